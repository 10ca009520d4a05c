// The lines of a log that the page holds: the newest, up to a bound.
import type { LogLine } from "../../api/types";

export class LogLines {
  private lines: LogLine[] = [];

  constructor(private readonly most = 100_000) {}

  add(line: LogLine): void {
    this.lines.push(line);
    // Dropped in large pieces, so that a full log costs no more than an empty one.
    if (this.lines.length > this.most * 1.1) this.lines = this.lines.slice(-this.most);
  }

  all(): LogLine[] {
    return this.lines.slice(-this.most);
  }
}
