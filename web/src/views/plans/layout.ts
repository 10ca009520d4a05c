// Where the tasks of a plan stand when it is drawn: levels from left to right, each in an order with few crossings.
import type { PlanGraph } from "../../api/types";

export const BOX = { width: 188, height: 74, across: 42, down: 14, edge: 16 };
/** How much room a line needs that passes a level. */
const LANE = 12;
/** In a plan with more tasks than this, lines pass below the boxes: lanes of their own would tear it apart. */
const MANY = 150;

export interface Placed {
  task: string;
  x: number;
  y: number;
}

export interface Drawing {
  tasks: Placed[];
  edges: { from: string; to: string; critical: boolean; path: string }[];
  width: number;
  height: number;
}

/** What stands in a level: a task, or the lane of what one task gives to levels further right. */
interface Item {
  name: string;
  high: number;
}

export function layout(graph: PlanGraph): Drawing {
  const { levels, ways } = lanes(graph);
  const sorted = ordered(levels, ways);
  const high = (level: Item[]) => level.reduce((sum, item) => sum + item.high + BOX.down, -BOX.down);
  const tallest = Math.max(BOX.height, ...sorted.map(high));
  const centred = Math.max(1, ...graph.levels.map((level) => level.length)) <= 12;
  const placed = new Map<string, Placed>();
  sorted.forEach((level, column) => {
    const x = BOX.edge + column * (BOX.width + BOX.across);
    // A short level stands in the middle, but of a very long neighbour it would be lost there.
    let y = BOX.edge + (centred ? (tallest - high(level)) / 2 : 0);
    for (const { name, high } of level) {
      placed.set(name, { task: name, x, y });
      y += high + BOX.down;
    }
  });
  const chain = new Set(graph.critical_path.map((task, at) => `${task}\n${graph.critical_path[at + 1] ?? ""}`));
  const edges = ways.flatMap((way) => {
    const stops = way.flatMap((name) => placed.get(name) ?? []);
    const [from, to] = [way[0], way.at(-1)];
    if (from === undefined || to === undefined || stops.length < way.length) return [];
    return [{ from, to, critical: chain.has(`${from}\n${to}`), path: curve(stops) }];
  });
  const width = Math.max(1, levels.length) * (BOX.width + BOX.across) - BOX.across + 2 * BOX.edge;
  return { tasks: graph.levels.flat().flatMap((task) => placed.get(task) ?? []), edges, width, height: tallest + 2 * BOX.edge };
}

/** The levels with lanes between their tasks, and for each edge what it passes, its ends included. */
function lanes(graph: PlanGraph): { levels: Item[][]; ways: string[][] } {
  const levels = graph.levels.map((level) => level.map((name) => ({ name, high: BOX.height })));
  const level = new Map(graph.levels.flatMap((names, at) => names.map((name) => [name, at] as const)));
  const known = new Set<string>();
  const ways = graph.edges.map(({ from, to }) => {
    const way = [from];
    const [start, end] = [level.get(from) ?? 0, level.get(to) ?? 0];
    for (let at = start + 1; at < end && level.size <= MANY; at += 1) {
      const name = `${from}\n${at}`;
      if (!known.has(name)) levels[at]?.push({ name, high: LANE });
      known.add(name);
      way.push(name);
    }
    return [...way, to];
  });
  return { levels, ways };
}

/** Each level by the middle of what its items need, which stands to the left already. */
function ordered(levels: Item[][], ways: string[][]): Item[][] {
  const needs = new Map<string, string[]>();
  for (const way of ways) way.slice(1).forEach((name, at) => needs.set(name, [...(needs.get(name) ?? []), way[at] ?? ""]));
  const place = new Map<string, number>();
  return levels.map((level) => {
    const middle = (name: string, otherwise: number) => {
      const before = (needs.get(name) ?? []).map((it) => place.get(it) ?? 0);
      return before.length > 0 ? before.reduce((sum, it) => sum + it, 0) / before.length : otherwise;
    };
    const sorted = level
      .map((item, at) => ({ item, by: middle(item.name, at / Math.max(1, level.length)) }))
      .sort((a, b) => a.by - b.by)
      .map(({ item }) => item);
    sorted.forEach((item, at) => place.set(item.name, (at + 0.5) / sorted.length));
    return sorted;
  });
}

/** The way of an edge with its tip: out of the right side of one box, along its lanes, into the left of the other. */
function curve(stops: Placed[]): string {
  const middle = (at: number) => (stops[at]?.y ?? 0) + (at === 0 || at === stops.length - 1 ? BOX.height : LANE) / 2;
  let path = `M${(stops[0]?.x ?? 0) + BOX.width} ${middle(0)}`;
  for (let at = 1; at < stops.length; at += 1) {
    const last = at === stops.length - 1;
    const [x1, y1] = [(stops[at - 1]?.x ?? 0) + BOX.width, middle(at - 1)];
    const [x2, y2] = [(stops[at]?.x ?? 0) - (last ? 2 : 0), middle(at)];
    const bend = Math.max(24, (x2 - x1) / 2);
    path += `C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
    path += last ? "m-6 -4l6 4l-6 4" : `h${BOX.width}`;
  }
  return path;
}
