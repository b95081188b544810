// Decisions on approvals: the order of checks, and the fields of the request.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { storeKey } from "../../support/access.ts";
import { KEY } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import {
  APPROVER,
  bringTo,
  decide,
  decided,
  listEvents,
  STATES,
  VERBS,
} from "./approvals-front.ts";
import { expectRefusal, readRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

let front: RunsFront;
let lenient: RunsFront;
beforeAll(async () => {
  front = await startRuns({ limits: "active_runs = 10_000\ndaily_runs = 100_000" });
  lenient = await startRuns({}, { env: { WADI_AGENTS__ENFORCE_SCOPE: "false" } });
});
afterAll(async () => {
  await front.app.stop(0);
  await lenient.app.stop(0);
});

const OTHER = `${KEY}-other`;
type Says = [status: number, code?: string, param?: string | null];

/** Reply to a valid decision by the approval's state. */
const BY_STATE: Record<string, Record<(typeof VERBS)[number], Says>> = {
  pending: { approve: [200], reject: [200] },
  approved: { approve: [200], reject: [409, "approval_decided", null] },
  rejected: { approve: [409, "approval_decided", null], reject: [200] },
  overdue: {
    approve: [409, "approval_expired", null],
    reject: [409, "approval_expired", null],
  },
  expired: {
    approve: [409, "approval_expired", null],
    reject: [409, "approval_expired", null],
  },
  cancelled: { approve: [409, "approval_closed", null], reject: [409, "approval_closed", null] },
  "closed with its run": {
    approve: [409, "approval_closed", null],
    reject: [409, "approval_closed", null],
  },
};
const BODIES: [body: string, says: Says | null][] = [
  ["", null],
  ["{}", null],
  ['{"reason":null}', null],
  ['{"reason":1}', [400, undefined, "reason"]],
  ['{"colour":"red"}', [400, undefined, "colour"]],
  ["{", [400, undefined, null]],
];

const readSays = async (reply: Response): Promise<Says> =>
  reply.status === 200 ? [200] : ((await readRefusal(reply)) as Says);

describe("the decision table", () => {
  test("has a row for each state of an approval", () => {
    expect(Object.keys(BY_STATE)).toEqual(Object.keys(STATES));
  });

  test("agents.endpoints.approvals.approval_missing_or_owned_by agents.endpoints.approvals.key_lacks_agents_approve agents.endpoints.approvals.key_is_the_one_that agents.authentication.5: object, scope, key, body and state are checked in this order, in every combination", async () => {
    const account_id = (await front.app.access.accounts.find("other"))!.id;
    const starter = await createKey(front, { scopes: ["agents", "agents.approve"] });
    const keys: [key: string, saysFor: (starts: string) => Says | null][] = [
      [APPROVER, () => null],
      // agents.authentication.2: the other scope is not required.
      [await createKey(front, { scopes: ["agents.approve"] }), () => null],
      [starter, (starts) => (starts === starter ? [403, "permission_denied", null] : null)],
      // Also where it is the one that started the run: its scope is looked at first.
      [KEY, () => [403, "scope_required", null]],
      [`${KEY}-none`, () => [403, "scope_required", null]],
      [OTHER, () => [404, "approval_not_found", null]],
      [
        await createKey(front, { account_id, scopes: ["agents", "agents.approve"] }),
        () => [404, "approval_not_found", null],
      ],
      [
        await createKey(front, { account_id: null, scopes: ["agents.approve"] }),
        () => [404, "approval_not_found", null],
      ],
    ];
    let tried = 0;
    for (const [state, row] of Object.entries(BY_STATE)) {
      for (const starts of [KEY, starter]) {
        for (const verb of VERBS) {
          const { approval } = await bringTo(front, state, starts);
          // A permitted decision comes last, with the effective ones at the end.
          for (const [body, ofBody] of BODIES.toReversed()) {
            for (const [key, saysFor] of keys.toReversed()) {
              tried++;
              const expected = saysFor(starts) ?? ofBody ?? row[verb];
              const request = [state, starts === KEY, verb, key.slice(-8), body];
              const says = await readSays(await decide(front, approval.id, verb, body, key));
              expect([...request, ...says]).toEqual([...request, ...expected]);
              const missing = await readSays(await decide(front, NOWHERE, verb, body, key));
              expect(missing).toEqual([404, "approval_not_found", null]);
            }
          }
        }
      }
    }
    expect(tried).toBe(7 * 2 * 2 * 6 * 8);
  });

  test("agents.errors.approval_not_found agents.authentication.6: missing and other accounts' approvals get identical bytes, whatever the key's scopes", async () => {
    const { approval } = await bringTo(front, "pending");
    const account_id = (await front.app.access.accounts.find("other"))!.id;
    const headers = { "x-request-id": "same" };
    const scopes = [[], ["agents"], ["agents.approve"], ["agents", "agents.approve"]] as const;
    const replies = new Set<string>();
    for (const scope of scopes) {
      for (const account of [account_id, null]) {
        const key = await createKey(front, { account_id: account, scopes: [...scope] });
        for (const id of [approval.id, approval.id.toUpperCase(), NOWHERE]) {
          for (const verb of VERBS) {
            const options = { key, headers };
            const reply = await front.post(`/v1/approvals/${id}/${verb}`, { reason: 1 }, options);
            const received = Object.fromEntries(reply.headers);
            delete received.date;
            replies.add(JSON.stringify([reply.status, received, await reply.text()]));
          }
        }
      }
    }
    expect([...replies]).toEqual([expect.stringContaining("approval_not_found")]);
    expect(await front.read(`/v1/approvals/${approval.id}`)).toEqual(approval);
  });

  test("an invalid UUID, a query, and another method are refused before any lookup", async () => {
    const { approval } = await bringTo(front, "pending");
    const path = `/v1/approvals/${approval.id}`;
    for (const key of [APPROVER, KEY, `${KEY}-none`, OTHER]) {
      await expectRefusal(await decide(front, "mine", "approve", {}, key), 400, undefined, "id");
      const query = await front.post(`${path}/approve?reason=x`, {}, { key });
      await expectRefusal(query, 400, undefined, "reason");
    }
    for (const verb of VERBS) {
      await expectRefusal(await front.get(`${path}/${verb}`), 404, "not_found");
    }
    await expectRefusal(await front.post(path, {}), 404, "not_found");
  });
});

describe("a decision", () => {
  test("agents.endpoints.approvals.post_v1_approvals_id agents.endpoints.approvals.post_v1_approvals_id_2 agents.states.p6 agents.resources.approval: is accepted once for a pending approval, and shown with its author", async () => {
    for (const [verb, status] of [
      ["approve", "approved"],
      ["reject", "rejected"],
    ] as const) {
      const { approval } = await bringTo(front, "pending");
      const nothing = { reason: null, decided_by: null, decided_at: null };
      expect(approval).toMatchObject({ status: "pending", ...nothing });
      await front.clock.advance(1_500);
      const after = await decided(front, approval.id, verb, { reason: "It is right." });
      const key = await findKeyId("-approver");
      expect(after).toEqual({
        ...approval,
        ...{ status, reason: "It is right.", decided_by: { kind: "key", id: key } },
        decided_at: new Date(front.clock.now()).toISOString(),
      });
    }
  });

  test("agents.endpoints.approvals.same_decision_again agents.states.p7: repeating it is 200 and changes nothing, from any key, at any time, with any reason", async () => {
    const second = await createKey(front, { scopes: ["agents.approve"] });
    for (const verb of VERBS) {
      const { approval, run } = await bringTo(front, "pending");
      const first = await decided(front, approval.id, verb, { reason: "First." });
      const received = (await listEvents(front)).length;
      for (const key of [APPROVER, second]) {
        // Also when its time would be over by now.
        await front.clock.advance(50_000);
        for (const body of [{}, { reason: null }, { reason: "Second." }]) {
          const again = await decide(front, approval.id, verb, body, key);
          expect([again.status, await again.json()]).toEqual([200, first]);
        }
      }
      expect((await listEvents(front)).length).toBe(received);
      const { data } = await front.read(`/v1/runs/${run.id}/steps`);
      expect(data.map((step: Json) => step.data.event)).toEqual(["requested", first.status]);
    }
  });

  test("agents.endpoints.approvals.opposite_decision_after_a_decision agents.states.p8 agents.errors.approval_decided: the opposite decision is 409 and changes nothing", async () => {
    for (const [verb, opposite] of [VERBS, VERBS.toReversed()] as const) {
      const { approval } = await bringTo(front, "pending");
      const first = await decided(front, approval.id, verb!);
      const reply = await decide(front, approval.id, opposite!, { reason: "No!" });
      await expectRefusal(reply, 409, "approval_decided");
      expect(await front.read(`/v1/approvals/${approval.id}`)).toEqual(first);
    }
  });

  test("agents.endpoints.approvals.after_expiry agents.states.p9 agents.errors.approval_expired: is accepted a millisecond before the expiry and refused afterwards, even before the expiry pass", async () => {
    const [late, just] = [await bringTo(front, "pending"), await bringTo(front, "pending")];
    await front.clock.advance(59_999);
    expect((await decided(front, just.approval.id, "approve")).status).toBe("approved");
    await front.clock.advance(1);
    for (const verb of VERBS) {
      await expectRefusal(await decide(front, late.approval.id, verb), 409, "approval_expired");
    }
    // The late decision has expired it: no pass of the clock is needed.
    const over = await front.read(`/v1/approvals/${late.approval.id}`);
    expect(over).toMatchObject({ status: "expired", decided_by: null });
    expect((await front.read(`/v1/runs/${late.run.id}`)).pending_approvals).toEqual([]);
  });

  test("agents.endpoints.approvals.cancelled_or_its_run_ended agents.states.p10 agents.errors.approval_closed: is 409 for a cancelled or ended run", async () => {
    for (const state of ["cancelled", "closed with its run"]) {
      const { approval, run } = await bringTo(front, state);
      expect(approval).toMatchObject({ status: "closed", reason: null, decided_by: null });
      expect(approval.decided_at).toBe(run.finished_at);
      for (const verb of VERBS) {
        const reply = await decide(front, approval.id, verb, { reason: "Too late." });
        await expectRefusal(reply, 409, "approval_closed");
      }
      expect(await front.read(`/v1/approvals/${approval.id}`)).toEqual(approval);
    }
  });
});

describe("permission to decide", () => {
  test("agents.authentication.2 agents.errors.scope_required: `agents.approve` decides and reads nothing, `agents` reads and decides nothing", async () => {
    const { approval } = await bringTo(front, "pending");
    const path = `/v1/approvals/${approval.id}`;
    const [decider, reader] = [
      await createKey(front, { scopes: ["agents.approve"] }),
      await createKey(front, { scopes: ["agents", "think", "search", "embeddings", "reasoning"] }),
    ];
    for (const one of [path, "/v1/approvals"]) {
      await expectRefusal(await front.get(one, { key: decider }), 403, "scope_required");
      expect((await front.get(one, { key: reader })).status).toBe(200);
    }
    for (const verb of VERBS) {
      const reply = await decide(front, approval.id, verb, {}, reader);
      await expectRefusal(reply, 403, "scope_required");
    }
    expect((await decide(front, approval.id, "approve", {}, decider)).status).toBe(200);
  });

  test("agents.authentication.3: the grace period lets a key without `agents` read, and never decide", async () => {
    const starter = await createKey(lenient, { scopes: ["agents.approve"] });
    // The key that starts a run no longer needs `agents`, and still counts as its starter.
    const { approval } = await bringTo(lenient, "pending", starter);
    const says = async (key: string) => {
      const one = await lenient.get(`/v1/approvals/${approval.id}`, { key });
      const list = await lenient.get("/v1/approvals", { key });
      const decision = await decide(lenient, approval.id, "approve", {}, key);
      const code = decision.status === 200 ? undefined : (await readRefusal(decision))[1];
      return [one.status, list.status, decision.status, code];
    };
    expect(await says(`${KEY}-none`)).toEqual([200, 200, 403, "scope_required"]);
    expect(await says(KEY)).toEqual([200, 200, 403, "scope_required"]);
    expect(await says(starter)).toEqual([200, 200, 403, "permission_denied"]);
    expect(await says(OTHER)).toEqual([404, 200, 404, "approval_not_found"]);
    expect(await says(APPROVER)).toEqual([200, 200, 200, undefined]);
    const missing = await decide(lenient, NOWHERE, "approve", {}, `${KEY}-none`);
    await expectRefusal(missing, 404, "approval_not_found");
  });

  test("agents.authentication.1 agents.authentication.4: missing, ended and internal keys are refused first", async () => {
    const { approval } = await bringTo(front, "pending");
    const account_id = front.account_id;
    const keyRequest = { account_id, scopes: ["agents.approve" as const] };
    const { key, secret } = await storeKey(front.app.access, keyRequest);
    await front.app.admin.keys.revoke(key.id);
    for (const id of [approval.id, NOWHERE, "mine"]) {
      for (const one of [null, "x", `${KEY}-revoked`, `${KEY}-expired`, secret]) {
        await expectRefusal(await decide(front, id, "approve", {}, one), 401, undefined);
      }
      const internal = await decide(front, id, "approve", {}, `${KEY}-internal`);
      await expectRefusal(internal, 403, "permission_denied");
    }
    expect((await front.read(`/v1/approvals/${approval.id}`)).status).toBe("pending");
  });

  test("agents.authentication.5: a rotated key remains the one that started the run, with both its secrets", async () => {
    const keyRequest = {
      account_id: front.account_id,
      scopes: ["agents" as const, "agents.approve" as const],
    };
    const { key, secret } = await storeKey(front.app.access, keyRequest);
    const { approval } = await bringTo(front, "pending", secret);
    const rotated = await front.app.admin.keys.rotate(key.id, 3_600_000);
    for (const one of [secret, rotated.secret]) {
      for (const verb of VERBS) {
        const reply = await decide(front, approval.id, verb, {}, one);
        await expectRefusal(reply, 403, "permission_denied");
      }
    }
    // And of another's run each of them decides as the one key that they are.
    const theirs = (await bringTo(front, "pending")).approval;
    const reply = await decide(front, theirs.id, "reject", {}, rotated.secret);
    expect(await reply.json()).toMatchObject({ decided_by: { kind: "key", id: key.id } });
    expect((await decide(front, theirs.id, "reject", {}, secret)).status).toBe(200);
  });

  test("agents.authentication.5: revoking the key that started a run lets other keys decide", async () => {
    const keyRequest = { account_id: front.account_id, scopes: ["agents" as const] };
    const { key, secret } = await storeKey(front.app.access, keyRequest);
    const { approval } = await bringTo(front, "pending", secret);
    await front.app.admin.keys.revoke(key.id);
    expect((await decided(front, approval.id, "reject")).status).toBe("rejected");
  });
});

describe("the reason", () => {
  const TAKEN: [sent: unknown, shown: string | null][] = [
    [null, null],
    ["", ""],
    ["x".repeat(1_000), "x".repeat(1_000)],
    // Code points count: each of these takes two units, and a family more.
    ["😀".repeat(1_000), "😀".repeat(1_000)],
    [" \t\r\n\u0001\u001b[31m\u007f\u0085\u202e\u2028\ufeff ", undefined as never],
    ['لا بأس — 同意。 "quoted" \\ </script>', undefined as never],
    // Not a valid string: what UTF-8 cannot encode is replaced.
    ["half \ud83d of it", "half \ufffd of it"],
  ];
  test("agents.endpoints.approvals.post_v1_approvals_id agents.resources.approval: is stored and shown as it was sent, in each place", async () => {
    for (const [sent, expected = sent] of TAKEN) {
      for (const verb of VERBS) {
        const { approval, run } = await bringTo(front, "pending");
        const after = await decided(front, approval.id, verb, { reason: sent });
        expect(after.reason).toBe(expected as string);
        const { data } = await front.read(`/v1/runs/${run.id}/steps`);
        expect(data.at(-1).data.approval).toEqual(after);
        const received = ["approval.decided", { approval: after }];
        expect(await listEvents(front)).toContainEqual(received as [string, Json]);
      }
    }
  });

  test("agents.errors.p5 agents.errors.p9: is refused if it is too long or not a string, and so is any unknown field, by its name", async () => {
    const { approval } = await bringTo(front, "pending");
    const wrong: [body: unknown, param: string | null][] = [
      [{ reason: "x".repeat(1_001) }, "reason"],
      [{ reason: "😀".repeat(1_001) }, "reason"],
      [{ reason: "a\0b" }, "reason"],
      ...[1, true, [], {}, ["x"]].map((reason): [unknown, string] => [{ reason }, "reason"]),
      [{ reason: "x", decision: "approved" }, "decision"],
      [{ Reason: "x" }, "Reason"],
      ['{"__proto__":{"reason":"x"}}', "__proto__"],
      ...["[]", "null", '"x"', "1", "{", "reason=x"].map((body): [unknown, null] => [body, null]),
    ];
    for (const verb of VERBS) {
      for (const [body, param] of wrong) {
        const says = await readRefusal(await decide(front, approval.id, verb, body));
        expect([body, says]).toEqual([body, [400, undefined, param]]);
      }
      const headers = { "content-type": "text/plain" };
      const reply = await front.post(`/v1/approvals/${approval.id}/${verb}`, '{"reason":"x"}', {
        ...{ key: APPROVER, headers },
      });
      await expectRefusal(reply, 400, undefined);
      const long = `{"reason":"x"${" ".repeat(256 * 1024)}}`;
      await expectRefusal(await decide(front, approval.id, verb, long), 413, undefined);
    }
    expect((await front.read(`/v1/approvals/${approval.id}`)).status).toBe("pending");
  });
});

async function findKeyId(ending: string): Promise<string> {
  const keys = await front.app.access.keys.list(front.account_id);
  return keys.find(({ name }) => name?.endsWith(ending))!.id;
}
