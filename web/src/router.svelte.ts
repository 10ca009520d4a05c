// Where the person is.
import { href, parse, type Route } from "./routes";

export { href, parse, type Route } from "./routes";

class Router {
  route = $state.raw<Route>(parse(location.hash));

  constructor() {
    addEventListener("hashchange", () => {
      this.route = parse(location.hash);
    });
  }

  /** The project that the person is in, if any. */
  get project(): string | null {
    return "project" in this.route ? this.route.project : null;
  }

  go(route: Route): void {
    location.hash = href(route);
  }

  /** Goes there without a step in the history: for choices that the page makes by itself. */
  replace(route: Route): void {
    history.replaceState(null, "", href(route));
    this.route = route;
  }
}

export const router = new Router();
