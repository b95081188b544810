// Grants as the operator gives them, seen from the models that a key may call.
import { expect, test } from "bun:test";
import { KEY, startApp } from "../support/app.ts";

const SETTINGS = `
[[models]]
id = "own"
self_hosted = true
[models.upstream]
kind = "stub"

[[models]]
id = "rented"
[models.upstream]
kind = "stub"
`;

test("gateway.authentication.6 a granted external model is listed and answers, until the grant goes", async () => {
  const app = await startApp({ settings: SETTINGS });
  const { accounts } = app.app.operator;
  const look = async () => {
    const listed = (await (await app.get("/v1/models")).json()) as { data: { id: string }[] };
    const { status } = await app.chat("Hello", { model: "rented" });
    return [listed.data.some(({ id }) => id === "rented"), status];
  };
  expect(await look()).toEqual([false, 403]);
  await accounts.grant("dev", "rented");
  expect(await look()).toEqual([true, 201]);
  // Another account has nothing of it.
  const other = await app.chat("Hello", { model: "rented" }, { key: `${KEY}-other` });
  expect(other.status).toBe(403);
  await accounts.ungrant("dev", "rented");
  expect(await look()).toEqual([false, 403]);
  await app.stop();
});
