// Restate with a service in this process: steps that do nothing, each in its journal before the next one begins.
//
// Prints one line of JSON; `steps.py` says what is measured. Here `resume_ms` is the time from a started service to the
// end of an invocation whose last step was left.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";

import * as restate from "@restatedev/restate-sdk";

const CLIENTS = 32;
const FLAGS = {
  directory: { type: "string" },
  durability: { type: "string" },
  steps: { type: "string", default: "1000" },
  runs: { type: "string", default: "200" },
  each: { type: "string", default: "20" },
  behind: { type: "string", default: "5000" },
  // The service alone: what is called again after it was killed.
  service: { type: "string" },
};
const { values: wanted } = parseArgs({ options: FLAGS });
const number = (name) => Number(wanted[name]);

// What the SDK needs of a Node that is newer than 20.
Promise.withResolvers ??= () => {
  const found = {};
  found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }));
  return found;
};

const chain = async (ctx, count) => {
  let done = 0;
  for (let at = 0; at < count; at++) done += await ctx.run("step", () => 1);
  return done;
};

const held = async (ctx, count) => {
  const done = await chain(ctx, count);
  // As a killed process: nothing is tidied up.
  return done + (await ctx.run("last", () => (process.env.STEPS_RESUMED ? 1 : process.exit(0))));
};

const serve = (port) =>
  restate.serve({
    services: [restate.service({ name: "steps", handlers: { chain, held } })],
    port,
    logger: ({ level }, ...words) => level === "error" && console.error(...words),
  });

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function until(ask) {
  for (;;) {
    try {
      const answer = await ask();
      if (answer.ok) return answer;
    } catch {
      // Not there yet.
    }
    await new Promise((go) => setTimeout(go, 20));
  }
}

function config(ports) {
  const unsynced = wanted.durability === "process";
  return `
bind-address = "127.0.0.1:${ports.node}"
base-dir = ${JSON.stringify(join(wanted.directory, "restate"))}
disable-telemetry = true
log-filter = "off"
[admin]
bind-address = "127.0.0.1:${ports.admin}"
[ingress]
bind-address = "127.0.0.1:${ports.ingress}"
[log-server]
rocksdb-disable-wal-fsync = ${unsynced}
[default-retry-policy]
initial-interval = "10ms"
max-interval = "50ms"
`;
}

const rate = async (count, work) => {
  const begin = performance.now();
  await work();
  return (count * 1000) / (performance.now() - begin);
};

async function atOnce(count, work) {
  let next = 0;
  const client = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function main() {
  const ports = { node: await freePort(), admin: await freePort(), ingress: await freePort() };
  const service = await freePort();
  const file = join(wanted.directory, "restate.toml");
  writeFileSync(file, config(ports));
  const bin = "node_modules/.bin/restate-server";
  const server = spawn(bin, ["--no-logo", "--config-file", file], { stdio: "ignore" });
  process.on("exit", () => server.kill("SIGKILL"));
  await serve(service);
  const json = { "content-type": "application/json" };
  const deployment = JSON.stringify({ uri: `http://127.0.0.1:${service}` });
  await until(() => fetch(`http://127.0.0.1:${ports.admin}/health`));
  await until(() =>
    fetch(`http://127.0.0.1:${ports.admin}/deployments`, { method: "POST", headers: json, body: deployment }),
  );
  const ingress = `http://127.0.0.1:${ports.ingress}`;
  const call = async (count) => {
    const answer = await fetch(`${ingress}/steps/chain`, { method: "POST", headers: json, body: String(count) });
    if ((await answer.json()) !== count) throw new Error("a step is missing");
  };
  await call(20);
  const one = await rate(number("steps"), () => call(number("steps")));
  const total = number("runs") * number("each");
  const many = await rate(total, () => atOnce(number("runs"), () => call(number("each"))));
  const resume_ms = await resumed(ports, json);
  const { version } = JSON.parse(readFileSync("node_modules/@restatedev/restate-server/package.json"));
  console.log(JSON.stringify({ peer: "Restate", store: "RocksDB", version, one, many, resume_ms }));
  process.exit(0);
}

/** A service of its own is killed in the last step, and the one after it goes on. */
async function resumed(ports, json) {
  const port = await freePort();
  const start = (env) =>
    spawn(process.execPath, [...process.argv.slice(1), "--service", String(port)], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
  const first = start({});
  await once(first.stdout, "data");
  const body = JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true });
  await until(() =>
    fetch(`http://127.0.0.1:${ports.admin}/deployments`, { method: "POST", headers: json, body }),
  );
  const ingress = `http://127.0.0.1:${ports.ingress}`;
  const sent = await fetch(`${ingress}/steps/held/send`, {
    method: "POST",
    headers: json,
    body: String(number("behind")),
  });
  const { invocationId } = await sent.json();
  await once(first, "exit");
  const begin = performance.now();
  const second = start({ STEPS_RESUMED: "yes" });
  process.on("exit", () => second.kill("SIGKILL"));
  const end = await fetch(`${ingress}/restate/invocation/${invocationId}/attach`);
  if ((await end.json()) !== number("behind") + 1) throw new Error("a step is missing");
  return performance.now() - begin;
}

if (wanted.service) {
  await serve(Number(wanted.service));
  console.log("listening");
} else {
  await main();
}
