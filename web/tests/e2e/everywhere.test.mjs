// What must hold in every view: accessible, without errors, on a narrow screen, by keyboard, and light to load.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { furnish, views } from "../furnished.mjs";
import { until } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WEIGHT = 300 * 1024;

let places;
stage({ furnish: async () => (places = views(await furnish(world))) });

async function faults(page) {
  // Not as a script of the page: its policy would rightly refuse it.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return violations
    .filter((it) => ["serious", "critical"].includes(it.impact))
    .map((it) => `${it.id}: ${it.nodes.slice(0, 4).map((node) => `${node.target.join(" ")} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [375, 1440]) {
    test(`no serious accessibility fault, no error, no sideways scrolling: ${colorScheme}, ${width} px`, async (context) => {
      const page = await browser.tab(world, { colorScheme, viewport: { width, height: 900 } });
      for (const [name, { to, ready }] of Object.entries(places)) {
        await context.test(name, async () => {
          await page.goto(world.url + to);
          await page.locator(ready).first().waitFor();
          await until(async () => (await page.getByText(/^Loading/).count()) === 0, "all of it is there");
          assert.deepEqual(await faults(page), []);
          const wide = await page.evaluate(() => [document.documentElement.scrollWidth, document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth]);
          assert.ok(wide[0] <= width && wide[1] <= 0, `it is ${wide} wide`);
          assert.deepEqual(page.faults, []);
        });
      }
    });
  }
}

test("dialogs, the door and what is empty have no serious fault either", async () => {
  const door = await browser.tab(world, { logIn: false });
  await door.goto(world.url);
  await door.getByRole("button", { name: "Log in" }).waitFor();
  assert.deepEqual(await faults(door), []);
  const empty = await world.ask("POST", "/my/projects", { name: "Empty", starter_pack: "none" });
  const page = await browser.tab(world);
  for (const view of ["", "/plans", "/agents", "/memory", "/health"]) {
    await page.goto(`${world.url}/#/p/${empty.id}${view}`);
    await page.locator("main h1, main .empty, main button").first().waitFor();
    await until(async () => (await page.getByText(/^Loading/).count()) === 0, "all of it is there");
    assert.deepEqual(await faults(page), [], view);
  }
  await page.goto(world.url + places["plan-done"].to);
  await page.locator("[data-task=api]").click();
  await page.getByRole("heading", { name: "Result" }).waitFor();
  assert.deepEqual(await faults(page), []);
});

test("the keyboard alone: help, palette, lists, search and places", async () => {
  const page = await browser.tab(world);
  await page.goto(world.url + places.plans.to);
  await page.locator("main li [data-item]").first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  assert.deepEqual(await faults(page), []);
  await page.keyboard.press("Escape");
  await until(async () => (await page.getByRole("dialog").count()) === 0, "it is closed");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.locator("[data-plan-status]").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find" }).fill("agent smith");
  assert.deepEqual(await faults(page), []);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "smith", exact: true }).waitFor();
  // Together, since the second must follow soon.
  await Promise.all([page.keyboard.press("g"), page.keyboard.press("m")]);
  await page.getByRole("heading", { name: "Memory" }).waitFor();
  await page.keyboard.press("/");
  await until(() => page.evaluate(() => document.activeElement?.getAttribute("type") === "search"), "the search has the focus");
});

test("colours follow the system, and the person's choice is kept", async () => {
  const page = await browser.tab(world, { colorScheme: "dark" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto(world.url);
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  const dark = await ground();
  await page.getByRole("button", { name: /^Colours/ }).first().click();
  await until(async () => (await ground()) !== dark, "it is light");
  const light = await ground();
  await page.reload();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  assert.equal(await ground(), light);
});

test("the first load is under 300 KB compressed, of one origin, without inline scripts", async () => {
  const folder = join(import.meta.dirname, "../../dist/page");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile());
  const weight = files.reduce((sum, it) => sum + gzipSync(readFileSync(join(it.parentPath ?? it.path, it.name))).length, 0);
  assert.ok(weight < WEIGHT, `${weight} bytes`);
  const html = readFileSync(join(folder, "index.html"), "utf8");
  assert.doesNotMatch(html, /<script(?![^>]*src=)/);
  assert.doesNotMatch(html, /https?:\/\//);
});
