// Processes of one test: they share a database and a clock, and start as a server does.
import { openTrial, type Respond, type Trial, type TrialOptions } from "./trial.ts";

export function createTrials() {
  const opened: Trial[] = [];
  return {
    async open(respond?: Respond, options: TrialOptions = {}): Promise<Trial> {
      const { database, clock, secrets } = opened[0] ?? {};
      const trial = await openTrial(respond, {
        ...{ database, clock, secrets, seed: opened.length + 1 },
        ...options,
      });
      opened.push(trial);
      await trial.start();
      return trial;
    },
    async closeAll(): Promise<void> {
      const [first, ...others] = opened.splice(0);
      for (const trial of others) await trial.stop();
      await first?.stop();
      await first?.database.close();
    },
  };
}
