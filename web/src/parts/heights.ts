// Where the rows of a long list are, when each has a height of its own.

export interface Laid {
  total: number;
  /** Where a row begins. */
  top: (index: number) => number;
  /** The row at a place, or the last one. */
  at: (place: number) => number;
}

/** Rows that are all of one height. */
export function evenly(rows: number, height: number): Laid {
  return {
    total: rows * height,
    top: (index) => Math.min(index, rows) * height,
    at: (place) => Math.max(0, Math.min(rows - 1, Math.floor(place / height))),
  };
}

export class Heights {
  private readonly known = new Map<string, number>();
  private mean: number;
  private sum = 0;

  constructor(estimate: number) {
    this.mean = estimate;
  }

  /** Remembers how high a row is; gives how much higher that is than it was taken for. */
  set(key: string, height: number): number {
    const before = this.known.get(key);
    this.known.set(key, height);
    this.sum += height - (before ?? 0);
    return height - (before ?? this.mean);
  }

  /** Lays rows below one another. */
  lay(keys: string[]): Laid {
    const tops = new Float64Array(keys.length + 1);
    let at = 0;
    for (let index = 0; index < keys.length; index += 1) {
      tops[index] = at;
      at += this.known.get(keys[index] ?? "") ?? this.mean;
    }
    tops[keys.length] = at;
    return {
      total: at,
      top: (index) => tops[Math.min(index, keys.length)] ?? 0,
      at: (place) => {
        let [low, high] = [0, keys.length];
        while (low < high) {
          const middle = (low + high) >> 1;
          if ((tops[middle + 1] ?? 0) <= place) low = middle + 1;
          else high = middle;
        }
        return Math.min(low, Math.max(0, keys.length - 1));
      },
    };
  }
}
