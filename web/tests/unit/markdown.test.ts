// Markdown becomes data, and nothing of it can load or run.
import { describe, expect, it } from "vitest";
import { ending, type Node, safeAddress, tree } from "../../src/parts/markdown";
import { HOSTILE } from "../scripts.mjs";

function all(nodes: Node[]): Node[] {
  return nodes.flatMap((node) => [node, ...("children" in node ? all(node.children) : [])]);
}

describe("tree", () => {
  it("knows the usual things", () => {
    const kinds = all(tree("# A\n\n*b* **c** `d`\n\n1. x\n2. y\n\n> q\n\n```js\ncode\n```\n\n|a|b|\n|-|-:|\n|1|2|")).map((node) => (node.is === "part" ? node.tag : node.is));
    for (const kind of ["h1", "em", "strong", "code", "list", "li", "blockquote", "block", "table", "cell"]) expect(kinds).toContain(kind);
  });

  it("puts the text of tight lists into their items", () => {
    expect(tree("- one")).toEqual([{ is: "list", ordered: false, start: 1, children: [{ is: "part", tag: "li", children: [{ is: "text", text: "one" }] }] }]);
  });

  it("takes HTML for the text that it is", () => {
    expect(tree("<script>x</script>")).toEqual([{ is: "part", tag: "p", children: [{ is: "text", text: "<script>x</script>" }] }]);
  });

  it("never gives a hostile answer more than links to the web", () => {
    for (const node of all(tree(HOSTILE))) {
      if (node.is === "link") expect(node.to).toMatch(/^(https?:\/\/|mailto:)/);
      if (node.is === "image" && node.to !== null) expect(node.to).toMatch(/^https?:\/\//);
    }
  });
});

describe("safeAddress", () => {
  it.each(["javascript:alert(1)", " JaVaScRiPt:x", "data:text/html,x", "vbscript:x", "//evil.test", "/local", "file:///etc/passwd", "", "http://"])("refuses %s", (address) => {
    expect(safeAddress(address)).toBeNull();
  });
  it.each(["https://example.org/a?b#c", "http://x", "mailto:ada@example.org"])("takes %s", (address) => {
    expect(safeAddress(address)).toBe(address);
  });
});

describe("ending", () => {
  it("is all of a short text", () => {
    expect(ending("short", 10)).toBe("short");
  });

  it("begins with a block, stays fenced, and does not grow with the text", () => {
    const words = "word ".repeat(30);
    expect(ending(`${words}\n\nblock ${"x".repeat(120)}`, 60).startsWith("block x")).toBe(true);
    expect(ending(`${words}\n\n\`\`\`js\n${"a\n\nb\n".repeat(80)}`, 60)).toMatch(/^```\n/);
    for (const text of ["word ".repeat(1000), "x".repeat(5000), "a\n\n".repeat(1000)]) {
      expect(ending(text, 100).length).toBeLessThan(310);
      expect(ending(text, 100).length).toBeGreaterThanOrEqual(100);
    }
  });

  it("stands still while it is written", () => {
    const text = "some words and more of them ".repeat(500);
    const beginnings = new Set(Array.from({ length: 1000 }, (_, at) => text.length - ending(text.slice(0, 10_000 + at), 3000).length - (text.length - 10_000 - at)));
    expect(beginnings.size).toBeLessThanOrEqual(2);
  });
});
