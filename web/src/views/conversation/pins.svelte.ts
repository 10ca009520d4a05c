// Conversations that the person wants on top. The server knows no pins, so they are this browser's.
const KEY = "artel.pins";

class Pins {
  private kept = $state<string[]>(read());

  has(id: string): boolean {
    return this.kept.includes(id);
  }

  toggle(id: string): void {
    this.kept = this.has(id) ? this.kept.filter((it) => it !== id) : [...this.kept, id];
    localStorage.setItem(KEY, JSON.stringify(this.kept));
  }
}

function read(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.map(String) : [];
  } catch {
    return [];
  }
}

export const pins = new Pins();
