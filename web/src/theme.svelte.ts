// Dark or light: what the system says, unless the person chose.
export type Theme = "system" | "light" | "dark";

export const THEMES: { theme: Theme; name: string }[] = [
  { theme: "system", name: "As the system" },
  { theme: "light", name: "Light" },
  { theme: "dark", name: "Dark" },
];

const KEY = "artel.theme";

class Choice {
  theme = $state<Theme>(read());

  set(theme: Theme): void {
    this.theme = theme;
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    applyTheme();
  }

  get name(): string {
    return THEMES.find(({ theme }) => theme === this.theme)?.name ?? "";
  }

  next(): void {
    const at = THEMES.findIndex(({ theme }) => theme === this.theme);
    this.set(THEMES[(at + 1) % THEMES.length]?.theme ?? "system");
  }
}

function read(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(): void {
  const kept = read();
  if (kept === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = kept;
}

export const choice = new Choice();
