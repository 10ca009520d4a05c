// What kinds of things an agent remembers.
import type { InteractionType } from "../../api/types";

export const KINDS: InteractionType[] = ["task_execution", "tool_call", "user_message", "agent_response"];
