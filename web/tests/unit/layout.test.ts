// A plan's drawing: by levels, nothing on top of anything else, and few crossings.
import { describe, expect, it } from "vitest";
import { BOX, layout } from "../../src/views/plans/layout";

const graph = {
  levels: [["a", "b"], ["c", "d"], ["e"]],
  edges: [{ from: "a", to: "d" }, { from: "b", to: "c" }, { from: "c", to: "e" }, { from: "d", to: "e" }],
  critical_path: ["a", "d", "e"],
};

describe("layout", () => {
  const drawing = layout(graph);
  const at = (name: string) => drawing.tasks.find((it) => it.task === name)!;

  it("puts levels from left to right", () => {
    expect(at("a").x).toBe(at("b").x);
    expect(at("a").x).toBeLessThan(at("c").x);
    expect(at("c").x).toBeLessThan(at("e").x);
  });

  it("uncrosses what can be uncrossed", () => {
    expect(at("a").y < at("b").y).toBe(at("d").y < at("c").y);
  });

  it("puts nothing on anything else, and all within the sheet", () => {
    for (const one of drawing.tasks) {
      expect(one.x + BOX.width).toBeLessThanOrEqual(drawing.width);
      expect(one.y + BOX.height).toBeLessThanOrEqual(drawing.height);
      for (const other of drawing.tasks) if (one !== other && one.x === other.x) expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(BOX.height);
    }
  });

  it("marks the longest chain alone", () => {
    expect(drawing.edges.filter((edge) => edge.critical).map((edge) => edge.from + edge.to)).toEqual(["ad", "de"]);
  });

  it("leads what passes a level between its boxes, and all of one task on one lane", () => {
    const far = layout({ levels: [["a", "b"], ["c"], ["d", "e"]], edges: [{ from: "a", to: "c" }, { from: "b", to: "d" }, { from: "b", to: "e" }, { from: "c", to: "d" }], critical_path: [] });
    const box = far.tasks.find((it) => it.task === "c")!;
    const lanes = ["d", "e"].map((to) => {
      const path = far.edges.find((edge) => edge.from === "b" && edge.to === to)!.path;
      return Number(new RegExp(`${box.x} ([\\d.]+)h${BOX.width}`).exec(path)?.[1]);
    });
    expect(lanes[0]).toBe(lanes[1]);
    expect(lanes[0]).toBeGreaterThan(box.y + BOX.height);
    expect(lanes[0]).toBeLessThan(far.height);
  });

  it("bears a plan without tasks", () => {
    expect(layout({ levels: [], edges: [], critical_path: [] }).tasks).toEqual([]);
  });
});
