// A whole conversation as a Markdown file.
import { all, api } from "../../api/client";
import type { Message, Session } from "../../api/types";
import type { ProjectState } from "../../state/project.svelte";
import { save } from "../../parts/saving";

export async function exportSession(project: ProjectState, session: Session): Promise<void> {
  const path = { project_id: project.id, session_id: session.id };
  const messages = await all(async (limit, offset) => {
    const page = await api.get("/my/projects/{project_id}/chat/sessions/{session_id}/messages", { path, query: { limit, offset } });
    return { items: page.messages, total: page.total };
  }, 1_000_000);
  const text = written(session.title, messages, (id) => project.agentName(id));
  save(`${fileName(session.title)}.md`, "text/markdown", text);
}

export function written(title: string, messages: Message[], name: (id: string) => string): string {
  const parts = messages.map((message) => {
    const who = message.role === "user" ? "You" : message.agent_id ? name(message.agent_id) : "The team";
    const fault = message.outcome && !message.outcome.success ? `> ${message.outcome.error ?? "failed"}\n\n` : "";
    return `## ${who}, ${message.timestamp}\n\n${fault}${message.content}\n`;
  });
  return `# ${title || "Conversation"}\n\n${parts.join("\n")}`;
}

export function fileName(title: string): string {
  const plain = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return plain.slice(0, 60) || "conversation";
}
