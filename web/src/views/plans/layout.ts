// Where the tasks of a plan stand when it is drawn: levels from left to right, each in an order with few crossings.
import type { PlanGraph } from "../../api/types";

export const BOX = { width: 188, height: 74, across: 42, down: 14, edge: 16 };

export interface Placed {
  task: string;
  x: number;
  y: number;
}

export interface Drawing {
  tasks: Placed[];
  edges: { from: Placed; to: Placed; critical: boolean }[];
  width: number;
  height: number;
}

export function layout(graph: PlanGraph): Drawing {
  const levels = ordered(graph);
  const tallest = Math.max(1, ...levels.map((level) => level.length));
  const step = { x: BOX.width + BOX.across, y: BOX.height + BOX.down };
  const height = tallest * step.y - BOX.down + 2 * BOX.edge;
  const placed = new Map<string, Placed>();
  levels.forEach((level, column) => {
    const free = (tallest - level.length) * step.y;
    // A short level stands in the middle, but of a very long neighbour it would be lost there.
    const above = tallest > 12 ? 0 : free / 2;
    level.forEach((task, row) => placed.set(task, { task, x: BOX.edge + column * step.x, y: BOX.edge + above + row * step.y }));
  });
  const chain = new Set(graph.critical_path.map((task, at) => `${task}\n${graph.critical_path[at + 1] ?? ""}`));
  const edges = graph.edges.flatMap(({ from, to }) => {
    const [start, end] = [placed.get(from), placed.get(to)];
    return start && end ? [{ from: start, to: end, critical: chain.has(`${from}\n${to}`) }] : [];
  });
  const width = Math.max(1, levels.length) * step.x - BOX.across + 2 * BOX.edge;
  return { tasks: [...placed.values()], edges, width, height };
}

/** Each level by the middle of what its tasks need, which stands to the left already. */
function ordered(graph: PlanGraph): string[][] {
  const needs = new Map<string, string[]>();
  for (const { from, to } of graph.edges) needs.set(to, [...(needs.get(to) ?? []), from]);
  const place = new Map<string, number>();
  return graph.levels.map((level) => {
    const middle = (task: string, otherwise: number) => {
      const before = (needs.get(task) ?? []).map((it) => place.get(it) ?? 0);
      return before.length > 0 ? before.reduce((sum, it) => sum + it, 0) / before.length : otherwise;
    };
    const sorted = level
      .map((task, at) => ({ task, by: middle(task, at / Math.max(1, level.length)) }))
      .sort((a, b) => a.by - b.by)
      .map(({ task }) => task);
    sorted.forEach((task, at) => place.set(task, (at + 0.5) / sorted.length));
    return sorted;
  });
}

/** The way of an edge with its tip: out of the right side of one box, into the left of the other. */
export function curve(from: Placed, to: Placed): string {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x - 2, to.y + BOX.height / 2];
  const bend = Math.max(24, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}m-6 -4l6 4l-6 4`;
}
