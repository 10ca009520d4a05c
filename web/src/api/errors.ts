// What went wrong, in words that say what to do about it.

export interface FieldFault {
  field: string;
  message: string;
}

export class ApiError extends Error {
  constructor(
    /** 0: the server was not reached at all. */
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly fields: FieldFault[] = [],
    /** Seconds after which it is worth trying again. */
    readonly retryAfter: number | null = null,
    readonly body: unknown = null,
  ) {
    super(detail);
    this.name = "ApiError";
  }
}

const REMEDIES: Record<string, string> = {
  unreachable: "Check that the server runs (`artel up` or `artel serve`) and that this machine reaches it.",
  wrong_credentials: "Check the name and the password. `artel user add NAME` makes an account.",
  spent_ticket: "A log-in link works once, within ten minutes. Start `artel up` again for a new one, or log in with name and password.",
  token_expired: "Log in again; nothing is lost.",
  invalid_token: "Log in again; nothing is lost.",
  unauthorized: "Log in again; nothing is lost.",
  account_disabled: "Ask whoever runs this server.",
  rate_limited: "Wait a moment and try again.",
  queue_full: "Wait until the agent has worked some of it off, or ask another agent.",
  not_registered: "Let the agent take tasks again on its page under Agents.",
  no_suitable_agent: "Add an agent with a fitting capability, or name one beside the message field.",
  no_agent: "Add an agent to this project first.",
  no_client: "Start `artel client --project ID --workspace DIR` on the machine with your files.",
  agent_name_taken: "Choose another name.",
  no_sandbox: "Install bubblewrap on the server's machine (`apt install bubblewrap`), or allow another sandbox with `agent_sandboxes`.",
  not_installed: "Install the program on the server's machine, or add its folder to `agent_path`.",
  not_logged_in: "Give the agent a key on its page, under Credentials.",
  credentials_unreadable: "The server's secret has changed: set the agent's key anew.",
  embeddings_unavailable: "The embedding service does not answer. What is remembered is kept and can be searched once it does.",
  not_an_export: "Choose a file that was made with Export.",
  body_too_large: "Make it shorter: a message may have about a megabyte.",
  origin_not_allowed: "Open the page by the server's own address, or add this one to `cors_origins`.",
  host_not_allowed: "Open the page by the server's own address, or add this name to `allowed_hosts`.",
  space_closed: "The project is being closed or moved; try again in a moment.",
  too_many_streams: "Close other tabs of this page.",
};

/** What the person can do about it; null when there is nothing better than to try again. */
export function remedy(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null;
  const known = REMEDIES[error.code];
  if (known) return known;
  if (error.retryAfter) return `Try again in ${error.retryAfter} s.`;
  if (error.status === 404) return "It may have been deleted. Go back and choose another.";
  if (error.status >= 500) return "This is the server's fault; its log (`artel.log`) says more. Trying again may help.";
  return null;
}

/** The error as a sentence. */
export function words(error: unknown): string {
  if (error instanceof ApiError) {
    const faults = error.fields.map((fault) => `${fault.field}: ${fault.message}`).join("; ");
    return faults ? `${error.detail} (${faults})` : error.detail;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Reads the body of a refusal, whatever it is. */
export async function refusal(response: Response): Promise<ApiError> {
  const after = Number(response.headers.get("retry-after")) || null;
  const text = await response.text().catch(() => "");
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && "detail" in body) {
      const { detail, error_code, errors } = body as { detail: string; error_code?: string; errors?: FieldFault[] };
      return new ApiError(response.status, error_code ?? "error", detail, errors ?? [], after, body);
    }
  } catch {
    // Not ours: a proxy's page, most likely.
  }
  if (response.status === 502 || response.status === 503 || response.status === 504) {
    return new ApiError(0, "unreachable", "The server cannot be reached", [], after);
  }
  return new ApiError(response.status, "error", `The server answered ${response.status}`, [], after);
}

export function unreachable(): ApiError {
  return new ApiError(0, "unreachable", "The server cannot be reached");
}

/** Nobody answered, or only somebody who says that the server is not up just now. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && [0, 502, 503, 504].includes(error.status);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
