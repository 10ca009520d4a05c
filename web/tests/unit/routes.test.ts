// Places and their addresses, there and back.
import { expect, it } from "vitest";
import { href, parse, type Route } from "../../src/routes";

const places: Route[] = [
  { at: "start" },
  { at: "inbox" },
  { at: "conversation", project: "p", session: null },
  { at: "conversation", project: "p", session: "s" },
  { at: "plans", project: "p", plan: "x" },
  { at: "agents", project: "p", agent: "new" },
  { at: "memory", project: "p", agent: null },
  { at: "health", project: "p" },
];

it.each(places)("%j", (place) => {
  expect(parse(href(place))).toEqual(place);
});

it("takes what it does not know for the start", () => {
  for (const odd of ["", "#", "#/x/y", "#/p/", "#ticket=abc", "#/p/%E0%A4%A"]) expect(["start", "conversation"]).toContain(parse(odd).at);
});
