// Beginning a conversation, from wherever.
import { api } from "../../api/client";
import { router } from "../../router.svelte";
import type { ProjectState } from "../../state/project.svelte";
import { attempt } from "../../state/toasts.svelte";

/** Goes to an empty conversation: one that is there already, or a new one. */
export async function begin(project: ProjectState): Promise<void> {
  await attempt(async () => {
    let empty = project.sessions.find((session) => session.message_count === 0);
    if (!empty) {
      empty = await api.post("/my/projects/{project_id}/chat/sessions", { path: { project_id: project.id }, body: {} });
      project.sessions = [empty, ...project.sessions];
    }
    router.go({ at: "conversation", project: project.id, session: empty.id });
  });
}
