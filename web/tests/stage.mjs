// What the tests of a file play on: a world and a browser that are there before them and gone after them.
import assert from "node:assert/strict";
import { after, before, test as run } from "node:test";
import { Browser, World } from "./harness.mjs";

/** Imported by name, these are whatever stands now. */
export let world;
export let browser;

/** A test that takes so long, in milliseconds, will never end. */
const HANGS = 300_000;

/** `each`: every test has a world of its own, for what one would leave to the next. */
let each = false;

export function stage(options = {}) {
  each = options.each ?? false;
  before(async () => {
    browser = await Browser.start();
    if (!each) world = await World.start();
    await options.furnish?.();
  });
  after(async () => {
    await browser?.stop();
    if (!each) await world?.stop();
  });
}

/**
 * A test, after which no tab may have complained or asked another server for anything. Of one that fails, what stands
 * in its tabs is printed: on another machine there is nothing else to go by.
 */
export function test(name, work) {
  run(name, { timeout: HANGS }, async (context) => {
    if (each) world = await World.start();
    try {
      await work(context);
      for (const tab of browser.tabs) {
        assert.deepEqual(tab.faults, []);
        assert.deepEqual(tab.strangers, []);
      }
    } catch (error) {
      for (const tab of browser.tabs) console.log(await seen(tab));
      throw error;
    } finally {
      await browser.closeTabs();
      if (each) await world.stop();
    }
  });
}

async function seen(tab) {
  const body = tab.locator("body");
  const text = await body.innerText({ timeout: 5000 }).catch((error) => String(error));
  const lines = [tab.url(), ...tab.faults, ...text.slice(0, 3000).split("\n")];
  return lines.filter((line) => line.trim()).map((line) => `# | ${line}`).join("\n");
}
