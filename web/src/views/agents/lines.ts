// The lines of a log that the page holds: the newest, up to a bound, and how many are missing between them.
import type { LogLine } from "../../api/types";

/** So many lines, from this number on, were not passed on: they came faster than they could be. */
export interface Gap {
  number: number;
  left: number;
}

export class LogLines {
  private lines: LogLine[] = [];
  /** Came after ones with higher numbers: out of what the server has kept, or it overtook the stream. */
  private late: LogLine[] = [];

  constructor(private readonly most = 100_000) {}

  add(line: LogLine): void {
    if (line.number <= (this.lines.at(-1)?.number ?? 0)) {
      this.late.push(line);
      return;
    }
    this.lines.push(line);
    // Dropped in large pieces, so that a full log costs no more than an empty one.
    if (this.lines.length > this.most * 1.1) this.lines = this.lines.slice(-this.most);
  }

  /** All of them in order, each once. */
  all(): LogLine[] {
    if (this.late.length > 0) {
      const known = new Map([...this.lines, ...this.late].map((line) => [line.number, line]));
      this.lines = [...known.values()].sort((a, b) => a.number - b.number);
      this.late = [];
    }
    return this.lines.slice(-this.most);
  }
}

/** How many are missing between the first and the last of these. */
export function leftOut(lines: LogLine[]): number {
  const [first, last] = [lines[0], lines.at(-1)];
  return first && last ? last.number - first.number + 1 - lines.length : 0;
}

/** The lines with the gaps between them. */
export function withGaps(lines: LogLine[]): (LogLine | Gap)[] {
  if (leftOut(lines) <= 0) return lines;
  const rows: (LogLine | Gap)[] = [];
  let next = lines[0]?.number ?? 0;
  for (const line of lines) {
    if (line.number > next) rows.push({ number: next, left: line.number - next });
    rows.push(line);
    next = line.number + 1;
  }
  return rows;
}
