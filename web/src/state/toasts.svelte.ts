// Short words at the edge of the page: what was done, and what could not be.
import { isAbort, remedy, words } from "../api/errors";

export interface Toast {
  id: number;
  kind: "done" | "failed";
  text: string;
  remedy: string | null;
}

class Toasts {
  all = $state<Toast[]>([]);
  private next = 1;

  done(text: string): void {
    this.add({ kind: "done", text, remedy: null }, 5000);
  }

  failed(error: unknown): void {
    if (isAbort(error)) return;
    this.add({ kind: "failed", text: words(error), remedy: remedy(error) }, 15_000);
  }

  dismiss(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }

  private add(toast: Omit<Toast, "id">, time: number): void {
    const id = this.next;
    this.next += 1;
    this.all = [...this.all.slice(-3), { ...toast, id }];
    setTimeout(() => this.dismiss(id), time);
  }
}

export const toasts = new Toasts();

/** Does something and says so, or says why not. Gives whether it was done. */
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work();
    if (done) toasts.done(done);
    return true;
  } catch (error) {
    toasts.failed(error);
    return false;
  }
}
