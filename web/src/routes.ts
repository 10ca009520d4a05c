// Places and their addresses: the part behind the hash, so that any server can serve the page.

export type Route =
  | { at: "start" }
  | { at: "inbox" }
  | { at: "conversation"; project: string; session: string | null }
  | { at: "plans"; project: string; plan: string | null }
  | { at: "agents"; project: string; agent: string | null }
  | { at: "memory"; project: string; agent: string | null }
  | { at: "health"; project: string };

/** Reads an address; what it does not know is the start. */
export function parse(hash: string): Route {
  const [, first, project, view, id] = hash.replace(/^#/, "").split("?")[0]!.split("/").map(decode);
  if (first === "inbox") return { at: "inbox" };
  if (first !== "p" || !project) return { at: "start" };
  const chosen = id || null;
  switch (view) {
    case "plans":
      return { at: "plans", project, plan: chosen };
    case "agents":
      return { at: "agents", project, agent: chosen };
    case "memory":
      return { at: "memory", project, agent: chosen };
    case "health":
      return { at: "health", project };
    case "s":
      return { at: "conversation", project, session: chosen };
    default:
      return { at: "conversation", project, session: null };
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place. */
export function href(route: Route): string {
  const tail = (view: string, id: string | null) => (id ? `/${view}/${encodeURIComponent(id)}` : `/${view}`);
  switch (route.at) {
    case "start":
      return "#/";
    case "inbox":
      return "#/inbox";
    case "conversation":
      return `#/p/${route.project}${route.session ? tail("s", route.session) : ""}`;
    case "plans":
      return `#/p/${route.project}${tail("plans", route.plan)}`;
    case "agents":
    case "memory":
      return `#/p/${route.project}${tail(route.at, route.agent)}`;
    case "health":
      return `#/p/${route.project}/health`;
  }
}
