// Dark or light: what the system says, unless the person chose.
export type Theme = "system" | "light" | "dark";

const KEY = "artel.theme";

class Choice {
  theme = $state<Theme>(read());

  set(theme: Theme): void {
    this.theme = theme;
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    applyTheme();
  }

  next(): void {
    const order: Theme[] = ["system", "light", "dark"];
    this.set(order[(order.indexOf(this.theme) + 1) % order.length] ?? "system");
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
