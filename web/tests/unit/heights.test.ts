// Rows of a long list: where each is, and which is where.
import { describe, expect, it } from "vitest";
import { evenly, Heights } from "../../src/parts/heights";

describe("Heights", () => {
  it("takes rows for what they are once they were seen", () => {
    const heights = new Heights(10);
    expect(heights.set("b", 30)).toBe(20);
    expect(heights.set("b", 30)).toBe(0);
    const laid = heights.lay(["a", "b", "c"]);
    expect([0, 1, 2, 3].map(laid.top)).toEqual([0, 10, 40, 50]);
    expect([0, 9, 10, 39, 40, 999].map(laid.at)).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it("agrees with rows of one height", () => {
    const rows = Array.from({ length: 50 }, (_, at) => String(at));
    const [one, other] = [new Heights(20).lay(rows), evenly(50, 20)];
    for (let place = 0; place < 1100; place += 7) expect(one.at(place)).toBe(other.at(place));
    expect(one.total).toBe(other.total);
  });

  it("bears an empty list", () => {
    expect(new Heights(10).lay([]).at(100)).toBe(0);
    expect(evenly(0, 10).at(5)).toBe(0);
  });
});
