// Markdown as a tree of plain data. No HTML is ever made of it: what the tree cannot say, the page cannot show.
import MarkdownIt from "markdown-it";

export type Node =
  | { is: "text"; text: string }
  | { is: "break" }
  | { is: "rule" }
  | { is: "code"; text: string }
  | { is: "block"; text: string; language: string }
  | { is: "link"; to: string; children: Node[] }
  | { is: "image"; to: string | null; text: string }
  | { is: "list"; ordered: boolean; start: number; children: Node[] }
  | { is: "cell"; head: boolean; align: string | null; children: Node[] }
  | { is: "part"; tag: Tag; children: Node[] };

const TAGS = ["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "li", "em", "strong", "s", "table", "thead", "tbody", "tr"] as const;
export type Tag = (typeof TAGS)[number];
const KNOWN: ReadonlySet<string> = new Set(TAGS);

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: true });

type Token = ReturnType<typeof markdown.parse>[number];

export function tree(text: string): Node[] {
  return build(markdown.parse(text, {}));
}

/**
 * The end of a text that is still being written: at least `most` characters of it, from the beginning of a block, and
 * fenced if it was cut out of a fence. It begins anew only after every `most` characters, so that what is shown stands
 * still in between.
 */
export function ending(text: string, most: number): string {
  if (text.length < 3 * most) return text;
  const about = (Math.floor(text.length / most) - 1) * most;
  const before = text.slice(about - most, about);
  const after = (mark: string) => (before.includes(mark) ? about - most + before.lastIndexOf(mark) + mark.length : null);
  const from = after("\n\n") ?? after(" ") ?? about;
  const fences = text.slice(0, from).match(/^```/gm)?.length ?? 0;
  return (fences % 2 === 1 ? "```\n" : "") + text.slice(from);
}

/** Where a link may lead: the web and the post, nothing that runs or loads here. */
export function safeAddress(address: string | null | undefined): string | null {
  if (!address) return null;
  const bare = address.trim();
  return /^(https?:\/\/|mailto:)[^\s]/i.test(bare) ? bare : null;
}

function build(tokens: Token[]): Node[] {
  const root: Node[] = [];
  const open: Node[][] = [root];
  const add = (node: Node) => open.at(-1)?.push(node);
  for (const token of tokens) {
    if (token.nesting === 1) {
      const children: Node[] = [];
      // Paragraphs of tight lists are marked as hidden: their text belongs to the item itself.
      if (!token.hidden) add(container(token, children));
      open.push(token.hidden ? (open.at(-1) ?? root) : children);
    } else if (token.nesting === -1) {
      open.pop();
    } else if (token.type === "inline") {
      for (const node of build(token.children ?? [])) add(node);
    } else {
      add(leaf(token));
    }
  }
  return root;
}

function container(token: Token, children: Node[]): Node {
  switch (token.type) {
    case "link_open": {
      const to = safeAddress(token.attrGet("href"));
      return to ? { is: "link", to, children } : { is: "part", tag: "em", children };
    }
    case "bullet_list_open":
      return { is: "list", ordered: false, start: 1, children };
    case "ordered_list_open":
      return { is: "list", ordered: true, start: Number(token.attrGet("start") ?? 1), children };
    case "th_open":
    case "td_open": {
      const align = /text-align:(\w+)/.exec(token.attrGet("style") ?? "")?.[1] ?? null;
      return { is: "cell", head: token.type === "th_open", align, children };
    }
    default:
      return { is: "part", tag: KNOWN.has(token.tag) ? (token.tag as Tag) : "p", children };
  }
}

function leaf(token: Token): Node {
  switch (token.type) {
    case "softbreak":
    case "hardbreak":
      return { is: "break" };
    case "hr":
      return { is: "rule" };
    case "code_inline":
      return { is: "code", text: token.content };
    case "fence":
    case "code_block":
      return { is: "block", text: token.content.replace(/\n$/, ""), language: token.info.trim().split(/\s+/)[0] ?? "" };
    case "image":
      return { is: "image", to: safeAddress(token.attrGet("src")), text: token.content };
    default:
      return { is: "text", text: token.content };
  }
}
