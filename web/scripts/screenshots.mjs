// Pictures of every view, light and dark, narrow and wide: `npm run screenshots`, into screenshots/.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { furnish, views } from "../tests/furnished.mjs";
import { Browser, World, until } from "../tests/harness.mjs";

const folder = resolve(process.env.SCREENSHOTS ?? join(import.meta.dirname, "../screenshots"));
mkdirSync(folder, { recursive: true });
const world = await World.start();
const browser = await Browser.start();
try {
  const places = Object.entries(views(await furnish(world)));
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [375, 1440]) {
      const look = { colorScheme, viewport: { width, height: width < 500 ? 812 : 900 } };
      const shot = (page, name) => page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
      const door = await browser.tab(world, { logIn: false, ...look });
      await door.goto(world.url);
      await door.getByRole("button", { name: "Log in" }).waitFor();
      await shot(door, "log-in");
      await door.context().close();
      const page = await browser.tab(world, look);
      for (const [name, { to, ready }] of places) {
        await page.goto(world.url + to);
        await page.locator(ready).first().waitFor();
        await until(async () => (await page.getByText(/^Loading/).count()) === 0, "all of it is there");
        await shot(page, name);
      }
      const plan = places.find(([name]) => name === "plan-done")[1];
      await page.goto(world.url + plan.to);
      await page.locator("[data-task=api]").click();
      await page.getByRole("heading", { name: "Result" }).waitFor();
      await shot(page, "task");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Timeline" }).click();
      await page.getByText("at the same time").waitFor();
      await shot(page, "timeline");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find" }).waitFor();
      await shot(page, "palette");
      await page.context().close();
    }
  }
  console.log(`pictures are in ${folder}`);
} finally {
  await browser.stop();
  await world.stop();
}
