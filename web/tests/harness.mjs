// A real server with scripts in place of models, a real browser, and what a test wants of both.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { SCRIPTS } from "./scripts.mjs";
import { serve } from "./serving.mjs";

export const ARTEL = process.env.ARTEL_BIN ?? resolve(import.meta.dirname, "../../target/release/artel");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
export const PASSWORD = "a password for tests";
/** When to give up. No measure of anything: the machine may be busy. */
export const LONG = 60_000;

/** A server with a user and, unless told otherwise, a project with a scripted team. */
export class World {
  static async start({ environment = {} } = {}) {
    const world = new World();
    world.data = mkdtempSync(join(tmpdir(), "artel-page-"));
    world.port = await freePort();
    world.environment = {
      PATH: process.env.PATH,
      HOME: world.data,
      ARTEL_JWT_SECRET: "a-secret-for-tests-only-0123456789abcdef",
      ARTEL_RATE_LIMIT_PER_MINUTE: "0",
      ARTEL_EMBEDDINGS: "lexical",
      ARTEL_APPROVAL_TIMEOUT: "1h",
      ARTEL_DATA_DIR: world.data,
      ARTEL_LISTEN: `127.0.0.1:${world.port}`,
      ...environment,
    };
    mkdirSync(join(world.data, "scripts"));
    for (const [name, text] of Object.entries(SCRIPTS)) writeFileSync(join(world.data, "scripts", `${name}.toml`), text);
    world.children = [];
    world.run(["user", "add", "ada", "--admin", "--password-stdin"], `${PASSWORD}\n`);
    await world.up();
    world.server = `http://127.0.0.1:${world.port}`;
    world.front = await serve(world.server);
    world.url = world.front.url;
    const { access_token } = await world.ask("POST", "/auth/login", { username: "ada", password: PASSWORD });
    world.token = access_token;
    return world;
  }

  run(args, input = "") {
    const done = spawnSync(ARTEL, args, { env: this.environment, input, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`artel ${args.join(" ")}: ${done.stderr || done.error}`);
    return done.stdout.trim();
  }

  async up() {
    const log = openSync(join(this.data, "server.out"), "a");
    this.process = spawn(ARTEL, ["serve"], { env: this.environment, stdio: ["ignore", log, log] });
    await until(async () => {
      if (this.process.exitCode !== null) throw new Error(readFileSync(join(this.data, "server.out"), "utf8").slice(-2000));
      return (await fetch(`http://127.0.0.1:${this.port}/ready`)).ok;
    }, "the server is ready");
  }

  /** As a power cut would. */
  async kill() {
    await ended(this.process, "SIGKILL");
  }

  async ask(method, path, body) {
    const headers = { "content-type": "application/json" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    const response = await fetch(this.server + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  /** A project with a team that does what scripts say. */
  async project(name = "Web shop") {
    const project = await this.ask("POST", "/my/projects", { name, starter_pack: "none" });
    const { tools } = await this.ask("GET", `/my/projects/${project.id}/tools/available`);
    const team = [
      ["coder", "worker", ["implement_feature", "fix_bug", "write_code"], "HIGH"],
      ["analyst", "worker", ["analyze_code", "review_code"], "LOW"],
      ["writer", "worker", ["write_documentation", "summarize"], "MEDIUM"],
      ["hands", "hands", ["deploy"], "HIGH"],
    ];
    for (const [agent, script, capabilities, risk_level] of team) {
      const config = { model: `scripted/${script}`, tools: script === "hands" ? tools.map((tool) => tool.name) : [], metadata: { capabilities, risk_level } };
      await this.ask("POST", `/my/projects/${project.id}/agents`, { name: agent, config });
    }
    return project;
  }

  /** The client on the user's machine, with a folder of its own. */
  async client(project) {
    const folder = mkdtempSync(join(tmpdir(), "artel-folder-"));
    writeFileSync(join(folder, "notes.txt"), "the door is green\n");
    const log = openSync(join(this.data, "client.out"), "a");
    const child = spawn(ARTEL, ["client", "--project", project, "--workspace", folder], {
      env: { PATH: process.env.PATH, HOME: this.data, ARTEL_SERVER: this.server, ARTEL_TOKEN: this.token },
      stdio: ["ignore", log, log],
    });
    this.children.push({ child, folder });
    await until(async () => (await this.ask("GET", `/my/projects/${project}/clients`)).total === 1, "the client is there");
    return { folder, read: (name) => readFileSync(join(folder, name), "utf8") };
  }

  async stop() {
    for (const { child, folder } of this.children) {
      await ended(child, "SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    }
    await ended(this.process, "SIGKILL");
    await this.front.close();
    rmSync(this.data, { recursive: true, force: true });
  }
}

/** A browser of its own, that keeps count of what it should not do. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.tabs = [];
    browser.chromium = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: LONG });
    return browser;
  }

  /**
   * A tab in a profile of its own, or `beside` another in the same. `faults` are its errors but for those that are
   * `excused`, `strangers` what it asked of other servers.
   */
  async tab(world, { logIn = true, beside = null, excused = null, viewport = { width: 1280, height: 800 }, colorScheme = "light", ...more } = {}) {
    const context = beside?.context() ?? (await this.chromium.newContext({ viewport, colorScheme, reducedMotion: "reduce", ...more }));
    if (logIn && !beside) await context.addInitScript((token) => localStorage.getItem("artel.token") ?? localStorage.setItem("artel.token", token), world.token);
    const page = await context.newPage();
    page.setDefaultTimeout(LONG);
    page.faults = [];
    page.strangers = [];
    this.tabs.push(page);
    page.on("pageerror", (error) => page.faults.push(String(error)));
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      if (excused?.test(message.text())) return;
      page.faults.push(`${message.text()} ${message.location().url}`);
    });
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (!["data:", "blob:", "about:"].includes(url.protocol) && url.origin !== world.url) page.strangers.push(request.url());
    });
    return page;
  }

  async closeTabs() {
    const contexts = new Set(this.tabs.map((tab) => tab.context()));
    this.tabs = [];
    for (const context of contexts) await context.close();
  }

  async stop() {
    await this.chromium.close();
  }
}

export async function until(check, what, time = LONG) {
  const end = Date.now() + time;
  let last;
  for (;;) {
    try {
      if (await check()) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`not within ${time} ms: ${what}${last ? ` (${last.message})` : ""}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Seconds that the page's thread truly worked while something was done, whatever else the machine had to do meanwhile. */
export async function measured(page, what, work) {
  page.cdp ??= await page.context().newCDPSession(page);
  await page.cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => Object.fromEntries((await page.cdp.send("Performance.getMetrics")).metrics.map((it) => [it.name, it.value]));
  const start = await read();
  const began = Date.now();
  await work();
  const end = await read();
  const took = Object.fromEntries(["Script", "Layout", "Task"].map((name) => [name.toLowerCase(), end[`${name}Duration`] - start[`${name}Duration`]]));
  const figures = Object.entries(took).map(([name, value]) => `${name} ${value.toFixed(2)} s`);
  console.log(`# ${what}: ${figures.join(", ")} of ${((Date.now() - began) / 1000).toFixed(1)} s, heap ${(end.JSHeapUsedSize / 2 ** 20).toFixed(0)} MiB`);
  return took;
}

/** Says something in the page, to one agent or to the team. */
export async function say(page, text, agent = null) {
  await page.getByRole("combobox", { name: "To", exact: true }).selectOption(agent ? { label: agent } : "");
  const field = page.getByRole("textbox", { name: "Message" });
  if (text.length < 10_000) await field.fill(text);
  else await field.evaluate(paste, text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Typing a megabyte takes for ever, and would stand in the log of every fault. */
function paste(element, text) {
  element.value = text;
  element.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
}

export function ended(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((done) => {
    child.once("exit", done);
    child.kill(signal);
  });
}

/** Below those that the system gives to whoever asks for any: between two starts of a server nobody takes it. */
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const free = await new Promise((done) => server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)));
    await new Promise((done) => server.close(done));
    if (free) return port;
  }
}
