// Processes of one test share a database and a clock, and start like servers.
import { type Model, openTrial, type Trial, type TrialOptions } from "./trial.ts";

export function createProcesses() {
  const opened: Trial[] = [];
  return {
    async open(model: Model, options: TrialOptions = {}): Promise<Trial> {
      const { database, clock } = opened[0] ?? {};
      const seed = opened.length + 1;
      const trial = await openTrial(model, { database, clock, seed, ...options });
      opened.push(trial);
      await trial.engine.start();
      trial.expiry.start();
      return trial;
    },
    async closeAll(): Promise<void> {
      for (const trial of opened.slice(1)) await trial.stop();
      for (const trial of opened.splice(0, 1)) await trial.close();
      opened.length = 0;
    },
  };
}
