// Everything that ticks or listens is a service: started in order, stopped in reverse.

export interface Service {
  name: string;
  start(): Promise<void> | void;
  /** Ends what it can within `deadlineMs`, then abandons the rest. */
  stop(deadlineMs: number): Promise<void> | void;
  /**
   * Begins no work that another process may begin, until `resume`; also called before the start.
   * Work under way goes on.
   */
  pause?(): Promise<void> | void;
  resume?(): void;
}

export interface Services {
  start(): Promise<void>;
  stop(deadlineMs: number): Promise<void>;
}

export interface JoinedServices extends Services {
  pause(): Promise<void>;
  resume(): void;
}

export function joinServices(services: readonly Service[]): JoinedServices {
  const started: Service[] = [];
  const stop = async (deadlineMs: number) => {
    const failures: unknown[] = [];
    for (let service = started.pop(); service; service = started.pop()) {
      try {
        const stopping = service.stop(deadlineMs);
        // All that stop without waiting do so in the same turn.
        if (stopping) await stopping;
      } catch (failure) {
        // Other services must still close their sockets and databases.
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "services failed to stop");
  };
  return {
    async start() {
      for (const service of services) {
        try {
          await service.start();
        } catch (failure) {
          await stop(0);
          throw failure;
        }
        started.push(service);
      }
    },
    stop,
    async pause() {
      await Promise.all(services.map((service) => service.pause?.()));
    },
    resume() {
      for (const service of services) service.resume?.();
    },
  };
}
