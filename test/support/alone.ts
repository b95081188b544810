// A process that no other one is beside.
import { Members } from "../../src/cluster/members.ts";

export const ALONE = {
  members: new Members(true),
  fence: { isOpen: true, pass: async () => true },
  async withLease(_name: string, work: (mayAct: () => Promise<boolean>) => Promise<void>) {
    await work(async () => true);
    return true;
  },
};
