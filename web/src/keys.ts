// The keyboard. Keys act on what the page marks: `data-item` is something that j and k go through, and within it
// `data-key="a"` is the button that the key a presses.

export interface Key {
  keys: string;
  does: string;
}

export const KEYS: Key[] = [
  { keys: "?", does: "Show this list" },
  { keys: "Ctrl K", does: "Find a place, a conversation, an agent or something to do" },
  { keys: "j  k", does: "Next and previous in a list" },
  { keys: "Enter", does: "Open what is chosen" },
  { keys: "a  r", does: "Approve or reject what is chosen; answer a question with a" },
  { keys: "/", does: "To the search or message field" },
  { keys: "n", does: "New: conversation, agent or project" },
  { keys: "g i", does: "To the inbox; g c conversation, g p plans, g a agents, g m memory, g h health, g s start" },
  { keys: "Ctrl Enter", does: "Send the message (Enter alone does, too; Shift Enter breaks the line)" },
  { keys: "Esc", does: "Close, or leave a field" },
];

export interface Actions {
  help: () => void;
  palette: () => void;
  go: (letter: string) => void;
}

/** Listens to the whole page; gives how to stop. */
export function listen(actions: Actions): () => void {
  let going = 0;
  const pressed = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      actions.palette();
      return;
    }
    const target = event.target as HTMLElement;
    if (event.key === "Escape" && writes(target)) target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || writes(target) || document.querySelector("dialog[open]")) return;
    if (going && Date.now() - going < 1200 && /^[a-z]$/.test(event.key)) {
      going = 0;
      event.preventDefault();
      actions.go(event.key);
      return;
    }
    going = 0;
    switch (event.key) {
      case "?":
        actions.help();
        break;
      case "g":
        going = Date.now();
        break;
      case "j":
      case "k":
        move(event.key === "j" ? 1 : -1);
        break;
      case "/":
        field()?.focus();
        break;
      case "a":
      case "r":
      case "n":
        if (!press(event.key)) return;
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

function writes(element: HTMLElement): boolean {
  return element.isContentEditable || (element.matches?.("input, textarea, select") && !element.matches("[type=checkbox], [type=radio]"));
}

function visible(element: HTMLElement): boolean {
  return element.getClientRects().length > 0;
}

function items(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main [data-item]")].filter(visible);
}

function chosen(): HTMLElement | null {
  return (document.activeElement as HTMLElement | null)?.closest<HTMLElement>("[data-item]") ?? null;
}

/** What stood after and before the chosen one: it may be gone by the next key, as what was decided is. */
let around: { after?: HTMLElement | undefined; before?: HTMLElement | undefined } = {};

function move(step: number): void {
  const all = items();
  const now = chosen();
  const beside = step > 0 ? around.after : around.before;
  const at = now ? all.indexOf(now) + step : beside && all.includes(beside) ? all.indexOf(beside) : step > 0 ? 0 : all.length - 1;
  const place = Math.max(0, Math.min(all.length - 1, at));
  around = { after: all[place + 1], before: all[place - 1] };
  all[place]?.focus();
  all[place]?.scrollIntoView({ block: "nearest" });
}

function field(): HTMLElement | null {
  return [...document.querySelectorAll<HTMLElement>("main [data-field]")].find(visible) ?? null;
}

/** Presses the button of a key: within what is chosen, or, where nothing can be chosen, the page's own. */
function press(key: string): boolean {
  const within = chosen();
  const own = within?.querySelector<HTMLElement>(`[data-key="${key}"]`);
  const loose = [...document.querySelectorAll<HTMLElement>(`main [data-key="${key}"]`)].filter((it) => visible(it) && !it.closest("[data-item]"));
  const button = own ?? loose[0];
  if (!button) return false;
  button.click();
  return true;
}
