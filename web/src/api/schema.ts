// What the server takes and gives. Made from `artel openapi` by `npm run types`; not to be edited.

export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The page, at the front door. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/html": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workers that programs run on. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Nodes"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not an administrator */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/spaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The spaces that are open on this node. */
        get: {
            parameters: {
                query?: {
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Spaces"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not an administrator */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/spaces/{project_id}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop everything in anybody's space at once, and open it anew. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Reset"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not an administrator */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every account. */
        get: {
            parameters: {
                query?: {
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Users"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not an administrator */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an agent gets to its model with; never the key itself. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CredentialsView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is no program */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        /** Set what an agent gets to its model with. It is kept sealed, and taken up when its process is started next. */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SetCredentials"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CredentialsView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is no program */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        post?: never;
        /** Forget an agent's credentials. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an agent's program wrote last; secrets are left out. */
        get: {
            parameters: {
                query?: {
                    /** @description How many, the newest last. */
                    limit?: number;
                    /** @description How many of the newest to leave out. */
                    offset?: number;
                };
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LogLines"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/logs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an agent's program writes, as it does. Reconnect with the last `id` to get everything since that is kept. */
        get: {
            parameters: {
                query?: {
                    /** @description First those after this number that are kept; 0: all that are kept. Without it, only new ones. */
                    after?: number;
                };
                header?: {
                    /** @description Go on after this number */
                    "Last-Event-ID"?: number | null;
                };
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Server-Sent Events: `line`, and `missed` with a number when the reader was too slow */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["LogLine"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/message": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an agent a message: it waits its turn, goes into the turn that runs, or takes its place. */
        post: {
            parameters: {
                query?: {
                    /** @description Seconds to wait for the answer. */
                    wait?: number;
                };
                header?: {
                    /** @description The same key again gives the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["TellAgent"];
                };
            };
            responses: {
                /** @description With the answer */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToldBody"];
                    };
                };
                /** @description Taken */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToldBody"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The agent takes no tasks */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The agent's queue is full */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/process": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How an agent's process stands. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ProcessView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is no program */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/questions/{question_id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a question of the agent's. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                    question_id: components["schemas"]["ApprovalId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AnswerQuestion"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It was answered already, or is no longer asked */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start an agent's process, and wait until it is ready. Without this its first message starts it. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ProcessView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is no program, or cannot be started; the reason says what to do */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop an agent's process: what it works on is cancelled, and nothing of it is left. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ProcessView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is no program */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in with a name and a password. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LogIn"];
                };
            };
            responses: {
                /** @description A token */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Token"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/ticket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log in with a one-time link, as `artel up` prints it. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            responses: {
                /** @description A token */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Token"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server is alive, and how its parts are. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerHealth"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures for Prometheus. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What waits for you, and what you decided, newest first. */
        get: {
            parameters: {
                query?: {
                    project_id?: components["schemas"]["ProjectId"];
                    status?: "pending" | "approved" | "rejected" | "timeout";
                    type?: "tool" | "plan" | "question";
                    /** @description The first moment of asking that counts. */
                    from?: components["schemas"]["Timestamp"];
                    /** @description The last moment of asking that counts. */
                    to?: components["schemas"]["Timestamp"];
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approvals"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals/batch-confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decide several in one call, each for itself. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ConfirmMany"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Confirmed"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says when something comes to wait for you, in whichever project, or goes: `approvals_changed` at first, and then at
         *     every change. What has changed is in the list.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Server-Sent Events */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["ApprovalsChanged"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals/{approval_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One of them. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    approval_id: components["schemas"]["ApprovalId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals/{approval_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say yes; to a question, answer it. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same request under the same key has the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    approval_id: components["schemas"]["ApprovalId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Approve"] | null;
                };
            };
            responses: {
                /** @description This decided it */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It was decided before */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlreadyDecided"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals/{approval_id}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decide, either way. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same request under the same key has the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    approval_id: components["schemas"]["ApprovalId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Confirm"];
                };
            };
            responses: {
                /** @description This decided it */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It was decided before */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlreadyDecided"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/approvals/{approval_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say no, and why; the agent is told. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same request under the same key has the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    approval_id: components["schemas"]["ApprovalId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Reject"] | null;
                };
            };
            responses: {
                /** @description This decided it */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It was decided before */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlreadyDecided"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The account behind the token. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Me"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Services of models that agents can be, and whether each can be used here. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ModelService"][];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set what holds for you in all projects. */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Preferences"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Preferences"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Your projects, oldest first. */
        get: {
            parameters: {
                query?: {
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Projects"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        /** Create a project with its team. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key again gives the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateProject"];
                };
            };
            responses: {
                /** @description Created, and its agents are ready */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["NewProject"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many projects */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One project. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Project"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        /** Change a project's name or folder; what is absent or null stays. */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["UpdateProject"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Project"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        post?: never;
        /** Delete a project with everything in it. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The project's agents, oldest first. */
        get: {
            parameters: {
                query?: {
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agents"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        /** Add an agent to the project's team. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key again gives the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateAgent"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agent"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The name is taken, or there are too many */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One agent. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agent"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        /** Replace an agent's name and configuration. */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateAgent"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agent"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The name is taken */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        post?: never;
        /** Delete an agent and what hangs on it. */
        delete: {
            parameters: {
                query?: {
                    /** @description What becomes of its memory. */
                    memory?: "clear" | "archive";
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Gone, and its memory kept as an export on the server */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Archived"];
                    };
                };
                /** @description Gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /** Change parts of an agent. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PatchAgent"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agent"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The name is taken */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what an agent remembers, the newest first. */
        get: {
            parameters: {
                query?: {
                    interaction_type?: components["schemas"]["InteractionType"];
                    success?: boolean;
                    /** @description The first moment that counts. */
                    from?: components["schemas"]["Timestamp"];
                    /** @description The last moment that counts. */
                    to?: components["schemas"]["Timestamp"];
                    /** @description `next_cursor` of the page before. */
                    cursor?: string;
                    /** @description How many at most. */
                    limit?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Listing"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The store of memories cannot be reached */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        /** Add something to an agent's memory. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same request under the same key is kept once */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AddContext"];
                };
            };
            responses: {
                /** @description It can be searched */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Added"];
                    };
                };
                /** @description It is kept; it can be searched once its vector could be made */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Added"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The store of memories cannot be reached */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        /** Forget everything that an agent remembers. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Forgotten"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything that an agent remembers, as one JSON document that can be imported again. An export that breaks off
         *     has no `total_interactions`, and is not valid JSON.
         */
        get: {
            parameters: {
                query?: {
                    /** @description The vectors too, so that an import need not make them again. */
                    include_embeddings?: boolean;
                    interaction_type?: components["schemas"]["InteractionType"];
                    success?: boolean;
                    /** @description The first moment that counts. */
                    from?: components["schemas"]["Timestamp"];
                    /** @description The last moment that counts. */
                    to?: components["schemas"]["Timestamp"];
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description agent_id, export_date, embedding_model, interactions, total_interactions */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": Record<string, unknown>;
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add what was exported. What is there already under the same id is replaced. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            /** @description A document as the export gives it, of any size */
            requestBody: {
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Imported"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not an export; what came before the fault is kept */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget a part of an agent's memory. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PruneContext"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Forgotten"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Find what is nearest in meaning. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SearchContext"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Found"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The store or the embedding service cannot be reached */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of an agent's memory. */
        get: {
            parameters: {
                query?: {
                    /** @description The first moment that counts. */
                    from?: components["schemas"]["Timestamp"];
                    /** @description The last moment that counts. */
                    to?: components["schemas"]["Timestamp"];
                    /** @description Also split over time. */
                    period?: "day" | "week";
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MemoryStats"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/context/{interaction_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Forget one interaction. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                    interaction_id: components["schemas"]["InteractionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/deregister": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let an agent take no more tasks. What waits for it is cancelled, what it runs may end: when this is answered no
         *     task of it runs, and none can start.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agent"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is not registered */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/invalidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget what is at hand of an agent, on every node; its next task sees it as it is in the database. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Forgotten */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an agent has done so far. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AgentMetrics"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let an agent take tasks again. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Agent"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It is registered already */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/agents/{agent_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an agent is doing. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    agent_id: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AgentStatusView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The last alerts of the project, newest first, of the events that are kept. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Alerts"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/chat/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The project's conversations, newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description Only conversations with these words in their title or in what was said. */
                    search?: string;
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sessions"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        /** Begin a conversation. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["CreateSession"] | null;
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Session"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/chat/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One conversation. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    session_id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Session"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Delete a conversation with its messages. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    session_id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /** Give a conversation another title, or pin it. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    session_id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ChangeSession"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Session"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/my/projects/{project_id}/chat/sessions/{session_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was said, oldest first. */
        get: {
            parameters: {
                query?: {
                    /** @description Only what was said in this role. */
                    role?: components["schemas"]["MessageRole"];
                    /** @description Only what was said after this message. */
                    after?: components["schemas"]["MessageId"];
                    /** @description Only what was said before this message, and of that the newest. */
                    before?: components["schemas"]["MessageId"];
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    session_id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Messages"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/chat/{session_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every event of one conversation, as it happens. Reconnect with the last `id` to get everything since, once each. */
        get: {
            parameters: {
                query?: {
                    /** @description Go on after this number, as in the project's stream. */
                    after?: number;
                };
                header?: {
                    /** @description Go on after this number */
                    "Last-Event-ID"?: number | null;
                    /** @description text/event-stream for Server-Sent Events */
                    Accept?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    session_id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description One JSON object a line, or Server-Sent Events */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/x-ndjson": components["schemas"]["Envelope"];
                        "text/event-stream": components["schemas"]["Envelope"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The server is stopping */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/chat/{session_id}/message": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message. To an agent that it names, the answer is waited for. Without one it is planned: the plan is answered
         *     at once (or asks for approval), and with `wait` the answer of all agents together, if it is there in time.
         * @description With `Accept: text/event-stream` the answer comes as it is written: `message_delta` events (and `task_started`,
         *     `task_progress`, `plan_request`, `tool_approval_request`, `agent_question` and so on between them), and then the
         *     whole as `message`. Going away does not stop the work.
         */
        post: {
            parameters: {
                query?: {
                    /** @description How many seconds to wait for its end; without it, none. */
                    wait?: number;
                };
                header?: {
                    /** @description The same key again is the same message, and has the same answer */
                    "Idempotency-Key"?: string | null;
                    /** @description text/event-stream for a streamed answer */
                    Accept?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    session_id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SendMessage"];
                };
            };
            responses: {
                /** @description The answer, or why there is none */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnswerBody"];
                        "text/event-stream": components["schemas"]["AnswerBody"];
                    };
                };
                /** @description It is planned, and being worked on or waiting for approval */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Planned"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The agent is not registered */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The agent's queue is full */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/client": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The client on the user's machine. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Client"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        /** Announce the client on the user's machine; again every few seconds. */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AnnounceClient"];
                };
            };
            responses: {
                /** @description It is the project's client */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Client"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Another one is */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        post?: never;
        /** The client goes. What it had under way ends. */
        delete: {
            parameters: {
                query: {
                    client_id: components["schemas"]["ClientId"];
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The clients of the project that are connected: one, or none. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Clients"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every event of the project, as it happens. Reconnect with the last `id` to get everything since, once each. */
        get: {
            parameters: {
                query?: {
                    /** @description Only events of this session. */
                    session_id?: components["schemas"]["SessionId"];
                    /**
                     * @description Go on after this number; 0 starts at the first event that is kept. Without it, and without
                     *     `Last-Event-ID`, the stream starts now.
                     */
                    after?: number;
                };
                header?: {
                    /** @description Go on after this number */
                    "Last-Event-ID"?: number | null;
                    /** @description application/x-ndjson for JSON lines */
                    Accept?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Server-Sent Events, or one JSON object a line */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["Envelope"];
                        "application/x-ndjson": components["schemas"]["Envelope"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The server is stopping */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The project's plans, newest first, without their tasks. */
        get: {
            parameters: {
                query?: {
                    status?: "pending" | "waiting_approval" | "executing" | "completed" | "partial_success" | "failed" | "cancelled" | "rejected";
                    /** @description Only those of this conversation. */
                    session_id?: components["schemas"]["SessionId"];
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Plans"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        /** Plan a request. Nothing runs yet; `execute` lets it run, or asks whether it may. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same request under the same key is one plan */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreatePlan"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One plan, whole; with `wait` once it has ended, or as it is then. */
        get: {
            parameters: {
                query?: {
                    /** @description How many seconds to wait for its end; without it, none. */
                    wait?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Leave tasks out of a plan that has not begun, or give them to other agents. Whoever was asked about it is asked again. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["EditPlan"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It has begun */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Approve a plan that waits for it: it runs. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Approve"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It waits for no decision, or was decided otherwise */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a plan: what runs is stopped, what waits never begins. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It has ended already */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a plan run. One of three tasks or more, or above $0.10, asks first. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It has begun already */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reject a plan that waits for approval: it never runs. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Reject"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It waits for no decision, or was decided otherwise */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Do parts of a plan again: what came to nothing, one task, or a task and all that depends on it. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["RetryPlan"] | null;
                };
            };
            responses: {
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PlanView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is nothing to do again, or it cannot be done yet */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/plans/{plan_id}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tasks of a plan, in their order. */
        get: {
            parameters: {
                query?: {
                    status?: "pending" | "executing" | "completed" | "failed" | "cancelled" | "skipped" | "outcome_unknown";
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    plan_id: components["schemas"]["PlanId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Tasks"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/space": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The project's space, as it is now. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SpaceView"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/space/cache/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget every agent that is at hand, on every node. Registrations stay. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Cleared"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/space/cleanup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let what runs end, empty the cache and close the space. The next request opens it again. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CleanedUp"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/space/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the project's space is well, and why not. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Health"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/space/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop everything at once, and open the space anew. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Reset"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/spending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the project's tasks took, by day and by agent. */
        get: {
            parameters: {
                query?: {
                    /** @description So many days, today included. Events are kept for 30 days, unless the server is set otherwise. */
                    days?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Spending"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What every agent of the project is doing. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Statuses"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A task and where it stands. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    task_id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Task"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tasks/{task_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a task, waiting or running. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    task_id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Task"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It has ended already */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The calls of a project, newest first. */
        get: {
            parameters: {
                query?: {
                    status?: "preparing" | "pending" | "running" | "succeeded" | "failed" | "rejected" | "timeout" | "cancelled" | "outcome_unknown";
                    /** @description Only those of this task. */
                    task_id?: components["schemas"]["TaskId"];
                    /** @description How many at most. */
                    limit?: number;
                    /** @description How many to skip. */
                    offset?: number;
                };
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Calls"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/available": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every tool that an agent's configuration can name. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Available"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Use a tool on the project's workspace. It goes the way that an agent's call goes: what is risky is asked. */
        post: {
            parameters: {
                query?: {
                    /** @description How many seconds to wait for its end; without it, none. */
                    wait?: number;
                };
                header?: {
                    /** @description The same request under the same key is one call */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ExecuteTool"];
                };
            };
            responses: {
                /** @description It has ended */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToolCall"];
                    };
                };
                /** @description It is under way */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToolCall"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What need not be asked in this project. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Allowed"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        /** Let agents of this project do something without being asked. Never holds for what is of high risk. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AllowTool"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Allowance"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There are too many */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/preferences/{preference_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Have it asked again. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    preference_id: components["schemas"]["AllowanceId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Gone */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/{tool_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A call and where it stands. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    tool_id: components["schemas"]["ToolCallId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToolCall"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/{tool_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a call run that waits for its approval. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    tool_id: components["schemas"]["ToolCallId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Approve"] | null;
                };
            };
            responses: {
                /** @description This decided it */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It was decided before */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlreadyDecided"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/{tool_id}/prepared": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What a client found out about a call that it was to prepare. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    tool_id: components["schemas"]["ToolCallId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ToolPrepared"];
                };
            };
            responses: {
                /** @description The call as it is now */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToolCall"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/{tool_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Refuse a call that waits for its approval; the agent is told why. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    tool_id: components["schemas"]["ToolCallId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Reject"] | null;
                };
            };
            responses: {
                /** @description This decided it */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Approval"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description It was decided before */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlreadyDecided"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/projects/{project_id}/tools/{tool_id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What came of a call. One that comes twice or too late changes nothing. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    project_id: components["schemas"]["ProjectId"];
                    tool_id: components["schemas"]["ToolCallId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ToolOutcome"];
                };
            };
            responses: {
                /** @description The call as it ended */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ToolCall"];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description There is no such thing, or it is not yours */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description The body took too long to arrive */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not JSON */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Not valid; every fault is named */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/my/runtimes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Kinds of programs that agents can be, and whether each can be had here. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RuntimeView"][];
                    };
                };
                /** @description No token, or not a good one */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
                /** @description Too many requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ErrorBody"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description OpenAPI 3.1 */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": Record<string, unknown>;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server takes requests now. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Readiness"];
                    };
                };
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Readiness"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Something to remember. */
        AddContext: {
            error_details?: string | null;
            /** @default task_execution */
            interaction_type: components["schemas"]["InteractionType"];
            /** @description Keys of your own. */
            metadata?: Record<string, unknown>;
            /** @default true */
            success: boolean;
            task_id?: components["schemas"]["TaskId"] | null;
            /** @example The tests need Redis on port 6390. */
            text: string;
            timestamp?: components["schemas"]["Timestamp"] | null;
        };
        /** @description What came of adding an interaction. */
        Added: components["schemas"]["Interaction"] & {
            /** @description False when the embedding service did not answer: it is kept, and found by search later. */
            searchable: boolean;
        };
        Agent: {
            config: components["schemas"]["AgentConfig"];
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["AgentId"];
            /** @example agent_coder */
            name: string;
            /**
             * @description Whether it takes tasks.
             * @default true
             */
            registered: boolean;
            status: components["schemas"]["AgentStatus"];
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description A person answered an agent, or did not. */
        AgentAnswer: {
            /** @description None: nobody answered, or nobody wanted to. */
            answer?: string | null;
            approval_id: components["schemas"]["ApprovalId"];
        };
        /** @enum {string} */
        AgentChange: "created" | "updated" | "deleted" | "registered" | "deregistered";
        /** @description Everything about an agent that its owner decides. */
        AgentConfig: {
            /**
             * Format: int32
             * @description How many tasks it may work on at a time.
             * @default 3
             */
            concurrency_limit: number;
            /**
             * Format: int32
             * @description Longest answer, in tokens.
             * @default 4096
             */
            max_tokens: number;
            /**
             * Format: int32
             * @description How many memories it keeps.
             * @default 1000000
             */
            max_vectors: number;
            metadata?: components["schemas"]["Metadata"];
            /**
             * @description `provider/model`, or a bare name for the default provider.
             * @default gpt-4
             * @example gpt-4
             */
            model: string;
            /** @description It is a program of this kind, and not a model behind an API. */
            runtime?: components["schemas"]["Runtime"];
            /**
             * @description What the agent is told before every task.
             * @default
             * @example You write tests first.
             */
            system_prompt: string;
            /**
             * Format: double
             * @default 0.7
             */
            temperature: number;
            /**
             * @description Names of the tools it may use.
             * @default []
             */
            tools: components["schemas"]["ToolName"][];
        };
        /**
         * Format: uuid
         * @description An agent of a project.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        AgentId: string;
        AgentMetrics: {
            agent_id: components["schemas"]["AgentId"];
            /**
             * Format: double
             * @description In seconds.
             */
            avg_processing_time: number;
            /**
             * Format: double
             * @description Between 0 and 1.
             */
            error_rate: number;
            last_activity?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            tasks_failed: number;
            /** Format: int64 */
            tasks_processed: number;
        };
        /** @description An agent asks a person something. */
        AgentQuestion: {
            agent_id: components["schemas"]["AgentId"];
            approval_id: components["schemas"]["ApprovalId"];
            /** @description Answers that the agent proposes. */
            options: string[];
            question: string;
            task_id?: components["schemas"]["TaskId"] | null;
        };
        AgentSpent: components["schemas"]["Spent"] & {
            agent_id: components["schemas"]["AgentId"];
        };
        /** @enum {string} */
        AgentStatus: "ready" | "busy" | "error";
        /** @description An agent joined, changed or left. */
        AgentStatusChanged: {
            agent_id: components["schemas"]["AgentId"];
            change: components["schemas"]["AgentChange"];
            name: string;
            status: components["schemas"]["AgentStatus"];
        };
        AgentStatusView: {
            agent_id: components["schemas"]["AgentId"];
            /** Format: int32 */
            concurrency_limit: number;
            /** @description Why its last task failed, if it did; of a quota, with the time of its reset where that is known. */
            last_error?: string | null;
            /** @description Whether it takes tasks. */
            registered: boolean;
            /** Format: int64 */
            running: number;
            status: components["schemas"]["Doing"];
            /** Format: int64 */
            waiting: number;
        };
        Agents: {
            agents: components["schemas"]["Agent"][];
            /**
             * Format: int64
             * @description How many there are in all.
             */
            total: number;
        };
        /** @description Something is wrong with the project's space, or no longer is. */
        Alert: {
            /** @example stuck_task */
            code: string;
            detail: string;
            /** @description The trouble is over. */
            resolved: boolean;
        };
        /** @description Something that was wrong with the project's space, or no longer is. */
        AlertView: components["schemas"]["Alert"] & {
            timestamp: components["schemas"]["Timestamp"];
        };
        Alerts: {
            alerts: components["schemas"]["AlertView"][];
        };
        /** @description Something that need not be asked in this project. */
        AllowTool: {
            /**
             * @description Of files, a glob on the path; of commands, words of which each may be a glob, and a last `*` stands for any more.
             *     Without one: every call of the tool that is not of high risk.
             * @example cargo test *
             */
            pattern?: string | null;
            /** @example tool_execute_command */
            tool_name: string;
        };
        /** @description Something that a user lets a project's agents do without being asked. */
        Allowance: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["AllowanceId"];
            /**
             * @description Of files, a glob on the path; of commands, words of which each may be a glob, and a last `*` stands for any more.
             *     None: every call of the tool that is not of high risk.
             * @example cargo test *
             */
            pattern?: string | null;
            /** @example tool_execute_command */
            tool_name: string;
        };
        /**
         * Format: uuid
         * @description Something that need not be asked.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        AllowanceId: string;
        Allowed: {
            preferences: components["schemas"]["Allowance"][];
        };
        /** @description Somebody, or the deadline, was quicker. */
        AlreadyDecided: {
            /** @description As it was decided. */
            approval: components["schemas"]["Approval"];
            /** @example It was decided before: approved */
            detail: string;
            /** @example already_decided */
            error_code: string;
            timestamp: components["schemas"]["Timestamp"];
        };
        /** @description A client that is there, or still is. */
        AnnounceClient: {
            /** @description Made anew by every start of a client. */
            client_id: components["schemas"]["ClientId"];
            /** @example ada-laptop */
            host: string;
            /** @description Whether commands run in a sandbox there. */
            sandbox: boolean;
            /** @example 0.1.0 */
            version: string;
            /**
             * @description The folder that it gives access to.
             * @example /home/ada/shop
             */
            workspace: string;
        };
        /** @description An agent's answer. */
        AnswerBody: {
            agent_id?: components["schemas"]["AgentId"] | null;
            content: string;
            /** @description What was drawn from the agent's memory. */
            context: components["schemas"]["Recollection"][];
            error?: string | null;
            error_type?: components["schemas"]["ErrorType"] | null;
            id: components["schemas"]["MessageId"];
            /**
             * @description `direct` from the agent that was named, or `orchestrated` from all that worked on a plan.
             * @example direct
             */
            mode: string;
            plan_id?: components["schemas"]["PlanId"] | null;
            role: components["schemas"]["MessageRole"];
            success: boolean;
            task_id?: components["schemas"]["TaskId"] | null;
            timestamp: components["schemas"]["Timestamp"];
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description The answer to a question of an agent's. */
        AnswerQuestion: {
            /** @example The blue one */
            answer: string;
        };
        Approval: {
            /** @description What the person added: the reason of a rejection, or the answer to a question. */
            comment?: string | null;
            created_at: components["schemas"]["Timestamp"];
            decided_by?: components["schemas"]["UserId"] | null;
            /** @description From where: `web`, `client`, `terminal`, `api`, `deadline`, or `cancelled` when the task ended before. */
            decided_from?: string | null;
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ApprovalId"];
            /** @description What is asked, whole: the plan, the tool call with its diff, or the question. */
            payload: Record<string, unknown>;
            project_id: components["schemas"]["ProjectId"];
            resolved_at?: components["schemas"]["Timestamp"] | null;
            risk_level: components["schemas"]["RiskLevel"];
            session_id?: components["schemas"]["SessionId"] | null;
            status: components["schemas"]["ApprovalStatus"];
            task_id?: components["schemas"]["TaskId"] | null;
            type: components["schemas"]["ApprovalKind"];
            user_id: components["schemas"]["UserId"];
        };
        /**
         * Format: uuid
         * @description A question to a person.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        ApprovalId: string;
        /** @enum {string} */
        ApprovalKind: "tool" | "plan" | "question";
        /** @description A person is asked. */
        ApprovalRequired: {
            approval_id: components["schemas"]["ApprovalId"];
            expires_at: components["schemas"]["Timestamp"];
            payload: Record<string, unknown>;
            risk_level: components["schemas"]["RiskLevel"];
            type: components["schemas"]["ApprovalKind"];
        };
        /** @description A person, or the deadline, has decided. */
        ApprovalResolved: {
            approval_id: components["schemas"]["ApprovalId"];
            comment?: string | null;
            decided_by?: components["schemas"]["UserId"] | null;
            decided_from?: string | null;
            status: components["schemas"]["ApprovalStatus"];
        };
        /** @enum {string} */
        ApprovalStatus: "pending" | "approved" | "rejected" | "timeout";
        /** @description Nobody decided in time: it counts as rejected. */
        ApprovalTimeout: {
            approval_id: components["schemas"]["ApprovalId"];
        };
        /** @description A minute is left to decide. */
        ApprovalTimeoutWarning: {
            approval_id: components["schemas"]["ApprovalId"];
            expires_at: components["schemas"]["Timestamp"];
        };
        Approvals: {
            approvals: components["schemas"]["Approval"][];
            /** Format: int64 */
            total: number;
        };
        /** @description What is told when something comes to wait for you, or goes. */
        ApprovalsChanged: {
            /** @description How much waits now. */
            pending: number;
        };
        /** @description A yes, or an answer to a question. */
        Approve: {
            /**
             * @description A word with it; to a question, the answer.
             * @example Go ahead
             */
            comment?: string | null;
        };
        /** @description A memory that was kept. */
        Archived: {
            /**
             * @description The file on the server.
             * @example archive/0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3.json
             */
            archive: string;
            /** Format: int64 */
            interactions: number;
        };
        Available: {
            tools: components["schemas"]["AvailableTool"][];
        };
        /** @description A tool that agents can be given. */
        AvailableTool: {
            description: string;
            /** @description Whether it can change anything. */
            effects: boolean;
            /**
             * Format: int64
             * @description The longest that a call may take, in seconds; none where the task's own time counts.
             */
            longest?: number | null;
            /** @example tool_read_file */
            name: string;
            /** @description A JSON schema. */
            parameters: Record<string, unknown>;
            /** @description How risky a call of it is at least; each is judged by its arguments. */
            risk_level: components["schemas"]["RiskLevel"];
            side: components["schemas"]["ToolSide"];
        };
        Calls: {
            calls: components["schemas"]["ToolCall"][];
            /** Format: int64 */
            total: number;
        };
        /**
         * @description One thing an agent can do, as a word the planner matches.
         * @example fix_bug
         */
        Capability: string;
        /** @description What is to change about a conversation; what is not named stays. */
        ChangeSession: {
            /** @description Whether its owner wants it at hand. */
            pinned?: boolean | null;
            /** @example The slow build */
            title?: string | null;
        };
        /** @description What a clean-up came to. */
        CleanedUp: {
            /**
             * Format: int64
             * @description Agents that were at hand.
             */
            cache_cleared: number;
            /** @description False when new work came in meanwhile: then the space goes on. */
            closed: boolean;
        };
        /** @description What clearing the cache came to. */
        Cleared: {
            /** Format: int64 */
            cache_cleared: number;
        };
        /** @description The program on the user's machine that carries calls out. */
        Client: {
            client_id: components["schemas"]["ClientId"];
            expires_at: components["schemas"]["Timestamp"];
            /** @example ada-laptop */
            host: string;
            /** @description Whether commands run in a sandbox there. */
            sandbox: boolean;
            user_id: components["schemas"]["UserId"];
            /** @example 0.1.0 */
            version: string;
            /**
             * @description The folder that it gives access to.
             * @example /home/ada/shop
             */
            workspace: string;
        };
        /** @description A client came, or went. */
        ClientChanged: {
            client_id: components["schemas"]["ClientId"];
            connected: boolean;
            host: string;
            sandbox: boolean;
            workspace: string;
        };
        /**
         * Format: uuid
         * @description A run of a client program.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        ClientId: string;
        /** @description Clients on the machines of the project's user. */
        Clients: {
            /** @description The one that is active; empty when there is none. */
            clients: components["schemas"]["Client"][];
            /** Format: int64 */
            total: number;
        };
        /** @description Either. */
        Confirm: {
            /**
             * @description A word with it: the reason of a rejection, or the answer to a question.
             * @example Go ahead
             */
            comment?: string | null;
            decision: components["schemas"]["Decision"];
        };
        /** @description Several decisions at once. */
        ConfirmMany: {
            approval_ids: components["schemas"]["ApprovalId"][];
            /** @example All of these */
            comment?: string | null;
            decision: components["schemas"]["Decision"];
        };
        Confirmed: {
            results: components["schemas"]["OneConfirmed"][];
        };
        /** @description What an agent drew from its memory for a task. The texts stand in the answer. */
        ContextRetrieved: {
            agent_id: components["schemas"]["AgentId"];
            items: components["schemas"]["Retrieved"][];
            task_id: components["schemas"]["TaskId"];
        };
        /** @description An agent to create, or what to replace one with. The fields of `config` may also stand beside `name`. */
        CreateAgent: {
            config: components["schemas"]["AgentConfig"];
            /** @example reviewer */
            name: string;
        };
        /** @description A request to be planned. */
        CreatePlan: {
            /** @example Find out about FastAPI and build a REST API */
            request: string;
            session_id?: components["schemas"]["SessionId"] | null;
            /** @description The plan itself, for who has one: it is checked, priced and run as any other. */
            tasks?: components["schemas"]["DraftTask"][] | null;
        };
        /** @description A project to create. */
        CreateProject: {
            /** @example Web shop */
            name: string;
            /**
             * @description The team to start with: `workspace`, `roles`, `none`, or a pack of the operator's.
             * @example workspace
             */
            starter_pack?: string | null;
            /**
             * @description Where the files are on your own machine; only your client ever opens it.
             * @example /home/ada/shop
             */
            workspace_path?: string | null;
        };
        /** @description A conversation to begin. */
        CreateSession: {
            /**
             * @description Without one, the first message gives it.
             * @example Why is the build slow?
             */
            title?: string | null;
        };
        /** @description What is known of an agent's credentials: never the key itself. */
        CredentialsView: {
            base_url?: string | null;
            has_key: boolean;
            login_dir?: string | null;
            /**
             * @description `agent`: given for it; `server`: what the server has for everybody; `none`.
             * @example agent
             */
            source: string;
        };
        DaySpent: components["schemas"]["Spent"] & {
            /** @example 2026-03-14 */
            day: string;
        };
        /**
         * @description What a person may answer.
         * @enum {string}
         */
        Decision: "approve" | "reject";
        /**
         * @description What becomes of a message while the agent works.
         * @enum {string}
         */
        Delivery: "queue" | "steer" | "replace";
        /** @description An agent was called by name, past the orchestrator. */
        DirectAgentCall: {
            agent_id: components["schemas"]["AgentId"];
            agent_name: string;
            task_id: components["schemas"]["TaskId"];
        };
        /**
         * @description What an agent is doing.
         * @enum {string}
         */
        Doing: "idle" | "error" | "quota" | "processing" | "busy" | "at_capacity";
        DraftTask: {
            /**
             * @description The agent's name.
             * @example agent_researcher
             */
            agent: string;
            /**
             * @description Which of the agent's capabilities it takes.
             * @example research_topic
             */
            capability?: string;
            /** @description Names of the tasks whose results it needs. */
            depends_on?: string[];
            /** @description What the agent is asked to do. */
            description: string;
            /**
             * @description Its name within the plan.
             * @example research
             */
            name: string;
        };
        /** @description A change to a plan that has not begun. Who approved it is asked again. */
        EditPlan: {
            /** @description Other agents for tasks, by the tasks' names. */
            assign?: Record<string, unknown>;
            /**
             * @description Tasks to leave out. What depends on them then depends on what they depend on.
             * @example [
             *       "write_tests"
             *     ]
             */
            drop?: string[];
        };
        /** @description An event in its place: what a reader of the stream gets, as JSON lines or as the data of an SSE frame. */
        Envelope: {
            /** @example agent_status_changed */
            event_type: string;
            /**
             * Format: int64
             * @description Grows by one from event to event of a project; absent on signals.
             * @example 42
             */
            id?: number | null;
            payload: Record<string, unknown>;
            session_id?: components["schemas"]["SessionId"] | null;
            timestamp: components["schemas"]["Timestamp"];
        };
        /** @description The body of every error. */
        ErrorBody: {
            /**
             * @description For people.
             * @example Project not found
             */
            detail: string;
            /**
             * @description For programs.
             * @example not_found
             */
            error_code: string;
            /** @description What is wrong with which field, when the request is not valid. */
            errors?: components["schemas"]["Field"][];
            timestamp: components["schemas"]["Timestamp"];
        };
        /**
         * @description Why a task gave no answer.
         * @enum {string}
         */
        ErrorType: "timeout" | "execution" | "rejected" | "cancelled" | "queue_full" | "quota" | "configuration" | "interrupted";
        /** @description A numbered event of a project. */
        Event: {
            /** @enum {string} */
            event_type: "agent_status_changed";
            payload: components["schemas"]["AgentStatusChanged"];
        } | {
            /** @enum {string} */
            event_type: "project_updated";
            payload: components["schemas"]["ProjectUpdated"];
        } | {
            /** @enum {string} */
            event_type: "message_created";
            payload: components["schemas"]["MessageCreated"];
        } | {
            /** @enum {string} */
            event_type: "direct_agent_call";
            payload: components["schemas"]["DirectAgentCall"];
        } | {
            /** @enum {string} */
            event_type: "task_started";
            payload: components["schemas"]["TaskStarted"];
        } | {
            /** @enum {string} */
            event_type: "task_progress";
            payload: components["schemas"]["TaskProgress"];
        } | {
            /** @enum {string} */
            event_type: "task_completed";
            payload: components["schemas"]["TaskCompleted"];
        } | {
            /** @enum {string} */
            event_type: "task_failed";
            payload: components["schemas"]["TaskFailed"];
        } | {
            /** @enum {string} */
            event_type: "task_cancelled";
            payload: components["schemas"]["TaskCancelled"];
        } | {
            /** @enum {string} */
            event_type: "context_retrieved";
            payload: components["schemas"]["ContextRetrieved"];
        } | {
            /** @enum {string} */
            event_type: "memory_warning";
            payload: components["schemas"]["MemoryWarning"];
        } | {
            /** @enum {string} */
            event_type: "task_plan_created";
            payload: components["schemas"]["TaskPlanCreated"];
        } | {
            /** @enum {string} */
            event_type: "plan_request";
            payload: components["schemas"]["PlanRequest"];
        } | {
            /** @enum {string} */
            event_type: "plan_status_changed";
            payload: components["schemas"]["PlanStatusChanged"];
        } | {
            /** @enum {string} */
            event_type: "approval_required";
            payload: components["schemas"]["ApprovalRequired"];
        } | {
            /** @enum {string} */
            event_type: "approval_resolved";
            payload: components["schemas"]["ApprovalResolved"];
        } | {
            /** @enum {string} */
            event_type: "approval_timeout_warning";
            payload: components["schemas"]["ApprovalTimeoutWarning"];
        } | {
            /** @enum {string} */
            event_type: "approval_timeout";
            payload: components["schemas"]["ApprovalTimeout"];
        } | {
            /** @enum {string} */
            event_type: "tool_approval_request";
            payload: components["schemas"]["ToolApprovalRequest"];
        } | {
            /** @enum {string} */
            event_type: "tool_execution_signal";
            payload: components["schemas"]["ToolExecutionSignal"];
        } | {
            /** @enum {string} */
            event_type: "tool_result";
            payload: components["schemas"]["ToolResult"];
        } | {
            /** @enum {string} */
            event_type: "agent_question";
            payload: components["schemas"]["AgentQuestion"];
        } | {
            /** @enum {string} */
            event_type: "agent_answer";
            payload: components["schemas"]["AgentAnswer"];
        } | {
            /** @enum {string} */
            event_type: "client_changed";
            payload: components["schemas"]["ClientChanged"];
        } | {
            /** @enum {string} */
            event_type: "process_changed";
            payload: components["schemas"]["ProcessChanged"];
        } | {
            /** @enum {string} */
            event_type: "alert";
            payload: components["schemas"]["Alert"];
        };
        /** @description A tool to use on the project's workspace. */
        ExecuteTool: {
            /** @example tool_read_file */
            tool_name: string;
            /** @description As `GET …/tools/available` describes them. */
            tool_params?: Record<string, unknown>;
        };
        /** @description What is wrong with one field of a request. */
        Field: {
            /**
             * @description Where it stands, such as `config.temperature`; empty for the whole.
             * @example config.temperature
             */
            field: string;
            /** @example 3 is greater than the maximum of 2 */
            message: string;
        };
        /** @description How many entries are gone. */
        Forgotten: {
            /** Format: int64 */
            deleted: number;
        };
        /** @description What a search found. */
        Found: {
            /** @example openai/text-embedding-3-small */
            embedding_model: string;
            /** @description True when some entries have no vector of the current model yet, and so were not searched. */
            partial: boolean;
            /** @description Best first. */
            results: components["schemas"]["Recollection"][];
        };
        Health: {
            /** @description Why it is not healthy. */
            reasons: components["schemas"]["Reason"][];
            status: components["schemas"]["Wellness"];
        };
        /** @description The stream is alive. */
        Heartbeat: {
            timestamp: components["schemas"]["Timestamp"];
        };
        /** @description What came of an import. */
        Imported: {
            /** Format: int64 */
            imported: number;
            /**
             * Format: int64
             * @description How many of them wait for their vectors, and are found by search later.
             */
            waiting: number;
        };
        /** @description One thing that happened to an agent. */
        Interaction: {
            id: components["schemas"]["InteractionId"];
            metadata: components["schemas"]["InteractionFacts"];
            /** @example The tests need Redis on port 6390. */
            text: string;
        };
        /** @description What is known of an interaction besides its text. */
        InteractionFacts: Record<string, unknown> & {
            /** @description Why it failed. */
            error_details?: string | null;
            interaction_type: components["schemas"]["InteractionType"];
            /** @description What was asked, when the text is an answer to it; the two are found together. */
            request?: string | null;
            success: boolean;
            task_id?: components["schemas"]["TaskId"] | null;
            timestamp: components["schemas"]["Timestamp"];
        };
        /**
         * Format: uuid
         * @description Something that an agent remembers.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        InteractionId: string;
        /**
         * @description What kind of thing happened.
         * @enum {string}
         */
        InteractionType: "task_execution" | "tool_call" | "user_message" | "agent_response";
        /** @description A page of a memory. */
        Listing: {
            /** @description Newest first. */
            interactions: components["schemas"]["Interaction"][];
            /** @description Where the next page begins; none when this was the last. */
            next_cursor?: string | null;
        };
        /** @description A name and its password. */
        LogIn: {
            /** @example correct horse battery staple */
            password: string;
            /** @example ada */
            username: string;
        };
        /** @description A line that the program wrote. */
        LogLine: {
            line: string;
            /**
             * Format: int64
             * @description Counts over the whole life of the agent.
             */
            number: number;
            /** @example stdout */
            stream: string;
            timestamp: components["schemas"]["Timestamp"];
        };
        LogLines: {
            lines: components["schemas"]["LogLine"][];
            /** @description How many are kept. */
            total: number;
        };
        /** @description Who you are here. */
        Me: {
            id: components["schemas"]["UserId"];
            limits: components["schemas"]["MyLimits"];
            /** @example ada */
            name: string;
            preferences: components["schemas"]["Preferences"];
            role: components["schemas"]["Role"];
        };
        MemoryStats: {
            agent_id: components["schemas"]["AgentId"];
            /** @description How many there are of each type. */
            by_type: {
                [key: string]: number;
            };
            /**
             * @description The name of the agent's collection.
             * @example user1_project0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3_agent_coder_context
             */
            collection: string;
            /** Format: double */
            collection_size_mb: number;
            /** @example lexical-1 */
            embedding_model: string;
            /** Format: int64 */
            max_vectors: number;
            newest_interaction?: components["schemas"]["Timestamp"] | null;
            oldest_interaction?: components["schemas"]["Timestamp"] | null;
            /** @description Oldest first; periods without any are left out. Only when they were asked for. */
            periods?: components["schemas"]["PeriodStats"][] | null;
            /**
             * Format: double
             * @description The share that went well, from 0 to 1; absent when there is nothing.
             */
            success_rate?: number | null;
            /** Format: int64 */
            total_vectors: number;
            vector_size: number;
            /**
             * Format: int64
             * @description How many of them have no vector of this model yet.
             */
            waiting: number;
        };
        /** @description An agent's memory is nearly full, or was full and its oldest entries were deleted. */
        MemoryWarning: {
            agent_id: components["schemas"]["AgentId"];
            /**
             * Format: int64
             * @description How many entries were deleted to make room.
             */
            deleted: number;
            /** Format: int64 */
            max_vectors: number;
            /** @example agent_coder */
            name: string;
            /** Format: int64 */
            total_vectors: number;
        };
        /** @description Something that was said. */
        Message: {
            agent_id?: components["schemas"]["AgentId"] | null;
            content: string;
            id: components["schemas"]["MessageId"];
            outcome?: components["schemas"]["Outcome"] | null;
            role: components["schemas"]["MessageRole"];
            task_id?: components["schemas"]["TaskId"] | null;
            timestamp: components["schemas"]["Timestamp"];
        };
        /** @description Somebody said something. */
        MessageCreated: {
            message: components["schemas"]["Message"];
        };
        /** @description Text of an answer as it is written; the whole comes with `message_created`. */
        MessageDelta: {
            agent_id: components["schemas"]["AgentId"];
            plan?: components["schemas"]["PlanPlace"] | null;
            task_id: components["schemas"]["TaskId"];
            text: string;
        };
        /**
         * Format: uuid
         * @description A message in a session.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        MessageId: string;
        /**
         * @description Who speaks.
         * @enum {string}
         */
        MessageRole: "user" | "assistant" | "system";
        Messages: {
            messages: components["schemas"]["Message"][];
            session_id: components["schemas"]["SessionId"];
            /** Format: int64 */
            total: number;
        };
        /** @description What planning knows of an agent. Keys beyond the three that the system reads are the user's own and are kept. */
        Metadata: Record<string, unknown> & {
            /** @default [] */
            capabilities: components["schemas"]["Capability"][];
            /** @default MEDIUM */
            risk_level: components["schemas"]["RiskLevel"];
            /** @example developer */
            role?: string;
        };
        /** @description A service of models, or the scripts that stand in for one. */
        ModelService: {
            /** @description Where it is, what to set to have it, or what is wrong with what was set. */
            detail: string;
            /** @description Whether names without a provider go there. */
            is_default: boolean;
            /** @description Models that are known by name, which are those with a known price; a service has more. */
            models: string[];
            /**
             * @description What names of its models begin with.
             * @example anthropic
             */
            provider: string;
            status: components["schemas"]["Readiness"];
        };
        MyLimits: {
            /**
             * Format: int32
             * @description None: no limit.
             */
            requests_per_minute?: number | null;
            streams: number;
        };
        /** @description A new project with the team it starts with. */
        NewProject: {
            agents: components["schemas"]["Agent"][];
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ProjectId"];
            /** @example Web shop */
            name: string;
            updated_at: components["schemas"]["Timestamp"];
            user_id: components["schemas"]["UserId"];
            workspace_path?: string | null;
        };
        /** @description A worker, as the server knows it. */
        NodeView: {
            /** @description Agents that live there, of all servers, … */
            agents: number;
            /** @description How many processes may run there at a time. */
            most: number;
            /** @example worker-1 */
            name: string;
            /** @description … and how many of them have a process. */
            running: number;
            runtimes: components["schemas"]["RuntimeView"][];
            /**
             * Format: int64
             * @description How long ago it was last heard, in seconds.
             */
            silent_for: number;
            /** @description Since when it runs. */
            since: components["schemas"]["Timestamp"];
            version: string;
        };
        Nodes: {
            nodes: components["schemas"]["NodeView"][];
            /** Format: int64 */
            total: number;
        };
        /** @description What came of one of several decisions. */
        OneConfirmed: {
            approval?: components["schemas"]["Approval"] | null;
            /** @description Whether this decided it. */
            decided: boolean;
            error?: string | null;
            id: components["schemas"]["ApprovalId"];
        };
        /** @description How an answer came about. */
        Outcome: {
            /** @description What the agent drew from its memory. */
            context?: components["schemas"]["Recollection"][];
            error?: string | null;
            error_type?: components["schemas"]["ErrorType"] | null;
            plan_id?: components["schemas"]["PlanId"] | null;
            success: boolean;
            usage?: components["schemas"]["Usage"] | null;
        };
        Part: {
            /** @example sqlite */
            kind: string;
            /** @example ok */
            state: string;
        };
        /**
         * @description What to change of an agent, as a JSON merge patch: what is absent stays, null goes back to its default. The
         *     fields of `config` may also stand beside `name`.
         */
        PatchAgent: {
            /** @description Any of the fields of `config`. */
            config?: Record<string, unknown> | null;
            name?: string | null;
        };
        PeriodStats: {
            /** @description When it begins, in UTC. */
            start: components["schemas"]["Timestamp"];
            /** Format: double */
            success_rate?: number | null;
            /** Format: int64 */
            successes: number;
            /** Format: int64 */
            total: number;
        };
        /**
         * @description What a client is to do with a call.
         * @enum {string}
         */
        Phase: "prepare" | "execute";
        Plan: {
            /**
             * Format: double
             * @description In US dollars: the plan itself, and what was done of it so far.
             */
            actual_cost: number;
            /**
             * Format: double
             * @description In seconds, once it has ended.
             */
            actual_duration?: number | null;
            answer_id?: components["schemas"]["MessageId"] | null;
            approval_id?: components["schemas"]["ApprovalId"] | null;
            /** Format: int64 */
            completed_count: number;
            created_at: components["schemas"]["Timestamp"];
            finished_at?: components["schemas"]["Timestamp"] | null;
            high_cost: boolean;
            id: components["schemas"]["PlanId"];
            /** @description The request, as a message of the conversation. */
            message_id: components["schemas"]["MessageId"];
            /** @description Why it stands so, where that needs a word. */
            note?: string | null;
            original_request: string;
            planner: components["schemas"]["Planner"];
            /** @description How the plan came about, where that needs a word: why there is no model behind it, which plan it repeats. */
            planner_note?: string | null;
            project_id: components["schemas"]["ProjectId"];
            requires_approval: boolean;
            risk_level: components["schemas"]["RiskLevel"];
            /** @description The conversation that the request and the answer stand in. */
            session_id: components["schemas"]["SessionId"];
            started_at?: components["schemas"]["Timestamp"] | null;
            status: components["schemas"]["PlanStatus"];
            /** Format: int64 */
            task_count: number;
            /** @example Find out about FastAPI, build a REST API */
            title: string;
            /** @description In US dollars. */
            total_estimated_cost: components["schemas"]["Range"];
            /** @description In seconds. */
            total_estimated_duration: components["schemas"]["Range"];
            /** @description The price of a model that it takes is not known. */
            unpriced: boolean;
            user_id: components["schemas"]["UserId"];
        };
        /** @description `to` needs the result of `from`. */
        PlanEdge: {
            from: string;
            to: string;
        };
        /** @description The graph of a plan, by the names of its tasks. */
        PlanGraph: {
            /** @description The chain of tasks that takes longest. */
            critical_path: string[];
            edges: components["schemas"]["PlanEdge"][];
            /** @description Tasks of one level can run together. */
            levels: string[][];
        };
        /**
         * Format: uuid
         * @description A task graph.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        PlanId: string;
        /** @description The task of a plan that somebody works on. */
        PlanPlace: {
            plan_id: components["schemas"]["PlanId"];
            /**
             * @description Its name within the plan.
             * @example research
             */
            task: string;
        };
        /** @description A person is asked whether a plan may run; the approval has all there is to know. */
        PlanRequest: {
            approval_id: components["schemas"]["ApprovalId"];
            /** @description In US dollars. */
            estimated_cost: components["schemas"]["Range"];
            /** @description In seconds. */
            estimated_duration: components["schemas"]["Range"];
            expires_at: components["schemas"]["Timestamp"];
            plan_id: components["schemas"]["PlanId"];
            risk_level: components["schemas"]["RiskLevel"];
            title: string;
        };
        /**
         * @description Where a plan stands.
         * @enum {string}
         */
        PlanStatus: "pending" | "waiting_approval" | "executing" | "completed" | "partial_success" | "failed" | "cancelled" | "rejected";
        /** @description A plan has moved on. */
        PlanStatusChanged: {
            message_id?: components["schemas"]["MessageId"] | null;
            /** @description Why, where that needs a word. */
            note?: string | null;
            plan_id: components["schemas"]["PlanId"];
            status: components["schemas"]["PlanStatus"];
        };
        /** @description One task of a plan. */
        PlanTask: {
            /**
             * Format: double
             * @description In US dollars, of all attempts; none when nothing was done, or the price is not known.
             */
            actual_cost?: number | null;
            agent_id?: components["schemas"]["AgentId"] | null;
            /** @example agent_researcher */
            agent_name: string;
            attempt_id?: components["schemas"]["TaskId"] | null;
            /**
             * Format: int32
             * @description How often it was begun.
             */
            attempts: number;
            capability?: string | null;
            created_at: components["schemas"]["Timestamp"];
            dependencies: string[];
            description: string;
            error?: string | null;
            /**
             * Format: int32
             * @description How often its model is asked, at most.
             */
            estimated_calls: number;
            /** @description In US dollars. */
            estimated_cost: components["schemas"]["Range"];
            /** @description In seconds. */
            estimated_duration: components["schemas"]["Range"];
            finished_at?: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["TaskId"];
            result?: string | null;
            risk_level: components["schemas"]["RiskLevel"];
            started_at?: components["schemas"]["Timestamp"] | null;
            status: components["schemas"]["PlanTaskStatus"];
            /**
             * @description Its name within the plan; `dependencies` speak of it.
             * @example research
             */
            task_id: string;
            /** @description The price of its model is not known. */
            unpriced: boolean;
            usage?: components["schemas"]["Usage"] | null;
        };
        /**
         * @description Where a task of a plan stands.
         * @enum {string}
         */
        PlanTaskStatus: "pending" | "executing" | "completed" | "failed" | "cancelled" | "skipped" | "outcome_unknown";
        /** @description A plan with its tasks and its graph. */
        PlanView: components["schemas"]["Plan"] & {
            graph: components["schemas"]["PlanGraph"];
            tasks: components["schemas"]["PlanTask"][];
        };
        /** @description A request that became a plan, and is being worked on. */
        Planned: {
            approval_id?: components["schemas"]["ApprovalId"] | null;
            /**
             * @description Always `orchestrated`.
             * @example orchestrated
             */
            mode: string;
            plan: components["schemas"]["PlanView"];
            plan_id: components["schemas"]["PlanId"];
            status: components["schemas"]["PlanStatus"];
        };
        PlannedTask: {
            agent: string;
            dependencies: string[];
            task: string;
        };
        /**
         * @description Who made a plan.
         * @enum {string}
         */
        Planner: "model" | "fallback" | "cache" | "given";
        Plans: {
            plans: components["schemas"]["Plan"][];
            /** Format: int64 */
            total: number;
        };
        /** @description What a user sets for themselves. */
        Preferences: {
            /**
             * Format: int32
             * @description How long this user has to decide, in seconds; none: what the server says.
             * @example 600
             */
            approval_timeout?: number | null;
        };
        /**
         * @description Who goes first on a queue.
         * @enum {string}
         */
        Priority: "normal" | "high";
        /** @description What is kept of an agent's process, so that it is found again after the server was killed. */
        Process: {
            agent_id: components["schemas"]["AgentId"];
            /** @description The conversation's name in the program's own files. */
            conversation?: string | null;
            /** @description The process or the container: `{"process": {"pid", "started"}}` or `{"container": {"id"}}`. */
            mark?: Record<string, unknown> | null;
            model?: string | null;
            /** @description The node that it runs on. */
            node: string;
            /** @description Why it is so, where that needs a word. */
            reason?: string | null;
            /**
             * Format: int32
             * @description How often it was started again because it died.
             */
            restarts: number;
            sandbox: components["schemas"]["Sandbox"];
            session_id?: components["schemas"]["SessionId"] | null;
            started_at?: components["schemas"]["Timestamp"] | null;
            state: components["schemas"]["ProcessState"];
            updated_at: components["schemas"]["Timestamp"];
            version?: string | null;
        };
        /** @description The process of an agent that is a program came up, went, or needs a word. */
        ProcessChanged: {
            agent_id: components["schemas"]["AgentId"];
            /** @description Why, or what its owner should know. */
            note?: string | null;
            state: components["schemas"]["ProcessState"];
        };
        /**
         * @description How the process of an agent stands.
         * @enum {string}
         */
        ProcessState: "INIT" | "STARTING" | "RUNNING" | "STOPPING" | "STOPPED" | "FAILED" | "KILLED" | "CRASHED";
        /** @description How an agent's process stands, as people see it. */
        ProcessView: components["schemas"]["Process"] & {
            /** @description What it does while it runs: `idle`, `working`, `running a tool`, `waiting for a person`, `retrying its model`. */
            activity?: string | null;
            /**
             * Format: int64
             * @description In bytes, of all its processes together.
             */
            memory?: number | null;
            /** @description Its number in the queue for a place on this node. */
            waiting?: number | null;
        };
        Project: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ProjectId"];
            /** @example Web shop */
            name: string;
            updated_at: components["schemas"]["Timestamp"];
            user_id: components["schemas"]["UserId"];
            /** @description Where the files are on the user's own machine; the server never opens it. */
            workspace_path?: string | null;
        };
        /**
         * Format: uuid
         * @description A project, and so its worker space.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        ProjectId: string;
        /** @description The project's name or folder changed. */
        ProjectUpdated: {
            name: string;
            workspace_path?: string | null;
        };
        Projects: {
            projects: components["schemas"]["Project"][];
            /**
             * Format: int64
             * @description How many there are in all.
             */
            total: number;
        };
        /** @description What to forget: what all of the given fields describe, or the oldest part. */
        PruneContext: {
            /**
             * Format: int32
             * @description What is older than so many days.
             * @example 30
             */
            days?: number | null;
            from?: components["schemas"]["Timestamp"] | null;
            interaction_type?: components["schemas"]["InteractionType"] | null;
            /**
             * Format: int32
             * @description The oldest so many of a hundred, whatever they are; stands alone.
             * @example 20
             */
            oldest_percent?: number | null;
            success?: boolean | null;
            to?: components["schemas"]["Timestamp"] | null;
        };
        /** @description At least and at most. */
        Range: {
            /** Format: double */
            max: number;
            /** Format: double */
            min: number;
        };
        /** @enum {string} */
        Readiness: "ready" | "not_configured" | "broken";
        Reason: {
            /** @example stuck_task */
            code: string;
            detail: string;
        };
        /** @description An interaction that was found, and how near it is to what was looked for: 1 is the same. */
        Recollection: {
            id: components["schemas"]["InteractionId"];
            metadata: components["schemas"]["InteractionFacts"];
            /**
             * Format: float
             * @example 0.83
             */
            score: number;
            text: string;
        };
        /** @description A no. */
        Reject: {
            /**
             * @description Why; the agent is told.
             * @example Not on a Friday
             */
            reason?: string | null;
        };
        /** @description What a reset came to. */
        Reset: {
            tasks_cancelled: number;
        };
        /** @description Events between what the reader has and what the server still has are gone: read the state anew, then go on. */
        Resync: {
            reason: components["schemas"]["ResyncReason"];
            /**
             * Format: int64
             * @description The number that the reader asked to go on after.
             */
            requested: number;
            /**
             * Format: int64
             * @description The number after which the stream goes on now.
             */
            resumed_after: number;
        };
        /** @enum {string} */
        ResyncReason: "too_old" | "unknown";
        /** @description One thing that was drawn from memory. */
        Retrieved: {
            id: components["schemas"]["InteractionId"];
            interaction_type: components["schemas"]["InteractionType"];
            /** Format: float */
            score: number;
        };
        /** @description What to do again of a plan. */
        RetryPlan: {
            /**
             * @description Another agent for the task, by name.
             * @example agent_analyzer
             */
            agent?: string | null;
            /** @description Also everything that depends on the task, done or not. */
            from?: boolean;
            /**
             * @description One task, and what was skipped because of it; without it, everything that came to nothing.
             * @example research
             */
            task?: string | null;
        };
        /**
         * @description How risky an agent's work, a plan or a tool call is.
         * @enum {string}
         */
        RiskLevel: "LOW" | "MEDIUM" | "HIGH";
        /**
         * @description What a user may do beyond their own projects.
         * @enum {string}
         */
        Role: "user" | "admin";
        /** @description Which program the agent is, instead of a model behind an API. */
        Runtime: {
            /**
             * @description The program and its arguments, where the kind has none of its own.
             * @default []
             * @example [
             *       "qwen",
             *       "--acp"
             *     ]
             */
            command: components["schemas"]["Word"][];
            /** @description More for its environment. Not the place for a key: those are credentials. */
            environment?: {
                [key: string]: string;
            };
            /**
             * Format: int32
             * @description After how many seconds without a message its process is ended.
             * @default 1800
             */
            idle: number;
            /**
             * @description `claude-code`, `codex`, `gemini-cli`, `factory-droid`, or `acp` and `line` for any other program.
             * @example claude-code
             */
            kind: string;
            /**
             * Format: int32
             * @description In MiB, of all its processes together.
             * @default 4096
             */
            memory: number;
            /**
             * @description As the program calls it; without one the program's own choice.
             * @example claude-sonnet-4-5
             */
            model?: string | null;
            /**
             * @description Without it only its tools are reached, and no model.
             * @default true
             */
            network: boolean;
            /** @description What only its kind understands. */
            options?: Record<string, unknown>;
            sandbox?: components["schemas"]["Sandbox"] | null;
            /**
             * Format: int32
             * @description After how many seconds its process is ended, between two turns.
             * @default 7200
             */
            ttl: number;
            /**
             * @description It asks nobody before it does what its sandbox lets it.
             * @default false
             */
            unattended: boolean;
            /** @description A folder on the server's machine that the server lets agents work in; without one a folder of its own. */
            workspace?: string | null;
        };
        /** @description A kind of program, and whether it can be had. */
        RuntimeView: {
            /** @description What was found, or what to do. */
            detail: string;
            /** @example claude-code */
            kind: string;
            /**
             * @description `ready`, `not_logged_in` or `not_installed`; `configurable` where the agent names the program; with workers
             *     `installed`, since each agent brings its own credentials.
             * @example ready
             */
            status: string;
        };
        /**
         * @description What stands between a program and the server's machine.
         * @enum {string}
         */
        Sandbox: "none" | "bubblewrap" | "docker";
        /** @description What to look for. Either `query` or `vector` is given. */
        SearchContext: {
            from?: components["schemas"]["Timestamp"] | null;
            interaction_type?: components["schemas"]["InteractionType"] | null;
            /** @example which port does redis have? */
            query?: string | null;
            success?: boolean | null;
            task_id?: components["schemas"]["TaskId"] | null;
            to?: components["schemas"]["Timestamp"] | null;
            /** @default 10 */
            top_k: number | null;
            /** @description A vector of the embedding model, instead of a text. */
            vector?: number[] | null;
        };
        /** @description A message to an agent. */
        SendMessage: {
            /** @example Find the slowest test. */
            content: string;
            /** @description `high` goes ahead of what waits for the agent. */
            priority?: components["schemas"]["Priority"];
            /**
             * @description The agent's name or id. Without it the request is planned, and whoever fits works on it.
             * @example agent_coder
             */
            target_agent?: string | null;
        };
        ServerHealth: {
            /** @description Programs of this node that run. */
            active_processes: number;
            /** @description Agents of this node that are programs and take messages, running or not. */
            listening_agents: number;
            parts: {
                [key: string]: components["schemas"]["Part"];
            };
            /** @example ok */
            status: string;
            /**
             * Format: int64
             * @description In seconds.
             */
            uptime: number;
            /** @example 0.1.0 */
            version: string;
        };
        Session: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["SessionId"];
            /** Format: int64 */
            message_count: number;
            /** @description Its owner wants it at hand. */
            pinned: boolean;
            /**
             * @description Empty until the first message gives one.
             * @example Why is the build slow?
             */
            title: string;
            updated_at: components["schemas"]["Timestamp"];
        };
        /**
         * Format: uuid
         * @description A conversation.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        SessionId: string;
        Sessions: {
            sessions: components["schemas"]["Session"][];
            /** Format: int64 */
            total: number;
        };
        /** @description What an agent that is a program gets to its model with. */
        SetCredentials: {
            /** @description The key of its model service, or of its own. */
            api_key?: string | null;
            /**
             * @description Where its model service is; without one the program's own.
             * @example https://models.example.org
             */
            base_url?: string | null;
            /**
             * @description A folder of the server's machine with a log-in of the program's own, which its owner may use
             *     (`agent_workspaces`).
             */
            login_dir?: string | null;
        };
        /** @description What has no number: text in flight, and word of the stream itself. */
        Signal: {
            /** @enum {string} */
            event_type: "message_delta";
            payload: components["schemas"]["MessageDelta"];
        } | {
            /** @enum {string} */
            event_type: "heartbeat";
            payload: components["schemas"]["Heartbeat"];
        } | {
            /** @enum {string} */
            event_type: "resync";
            payload: components["schemas"]["Resync"];
        } | {
            /** @enum {string} */
            event_type: "error";
            payload: components["schemas"]["StreamError"];
        };
        /** @description A project's space, as it is now. */
        SpaceView: {
            /**
             * Format: int64
             * @description Agents that take tasks.
             */
            active_agents: number;
            /** @description Agents whose configuration is at hand on this node. */
            cache_size: number;
            is_healthy: boolean;
            project_id: components["schemas"]["ProjectId"];
            /** Format: int64 */
            queued_tasks: number;
            /** Format: int64 */
            running_tasks: number;
            /** Format: int64 */
            total_tasks_processed: number;
            /**
             * Format: int64
             * @description In seconds, since the space was opened on this node.
             */
            uptime: number;
            user_id: components["schemas"]["UserId"];
            /**
             * @description What its keys begin with, in everything that nodes share.
             * @example user1_project0192…
             */
            user_prefix: string;
        };
        Spaces: {
            spaces: components["schemas"]["SpaceView"][];
            /** Format: int64 */
            total: number;
        };
        /** @description What was spent, and on what. */
        Spending: {
            /** @description Agents that spent something, the most expensive first; those that are gone, too. */
            agents: components["schemas"]["AgentSpent"][];
            /** @description Days on which something was spent, oldest first, in UTC. */
            days: components["schemas"]["DaySpent"][];
            /** @description Nothing before this is counted. */
            since: components["schemas"]["Timestamp"];
            total: components["schemas"]["Spent"];
        };
        /** @description What tasks took. */
        Spent: {
            /**
             * Format: double
             * @description In US dollars, of all tasks whose price is known.
             */
            cost: number;
            /** Format: int64 */
            input_tokens: number;
            /** Format: int64 */
            output_tokens: number;
            /** Format: int64 */
            tasks: number;
            /**
             * Format: int64
             * @description Tasks of models that have no known price.
             */
            unpriced: number;
        };
        Statuses: {
            agents: components["schemas"]["AgentStatusView"][];
        };
        /** @description Why the stream ends. */
        StreamError: {
            detail: string;
            /** @example project_deleted */
            error_code: string;
        };
        Task: {
            agent_id: components["schemas"]["AgentId"];
            created_at: components["schemas"]["Timestamp"];
            error?: string | null;
            error_type?: components["schemas"]["ErrorType"] | null;
            finished_at?: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["TaskId"];
            /** @description The message that asked for it. */
            message_id: components["schemas"]["MessageId"];
            plan?: components["schemas"]["PlanPlace"] | null;
            priority: components["schemas"]["Priority"];
            project_id: components["schemas"]["ProjectId"];
            session_id: components["schemas"]["SessionId"];
            started_at?: components["schemas"]["Timestamp"] | null;
            status: components["schemas"]["TaskStatus"];
            user_id: components["schemas"]["UserId"];
        };
        TaskCancelled: {
            agent_id: components["schemas"]["AgentId"];
            plan?: components["schemas"]["PlanPlace"] | null;
            task_id: components["schemas"]["TaskId"];
        };
        TaskCompleted: {
            agent_id: components["schemas"]["AgentId"];
            message_id?: components["schemas"]["MessageId"] | null;
            plan?: components["schemas"]["PlanPlace"] | null;
            task_id: components["schemas"]["TaskId"];
            usage?: components["schemas"]["Usage"] | null;
        };
        TaskFailed: {
            agent_id: components["schemas"]["AgentId"];
            error: string;
            error_type: components["schemas"]["ErrorType"];
            plan?: components["schemas"]["PlanPlace"] | null;
            task_id: components["schemas"]["TaskId"];
        };
        /**
         * Format: uuid
         * @description A piece of work on an agent's queue.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        TaskId: string;
        /** @description A request became a plan. */
        TaskPlanCreated: {
            /** @description In US dollars. */
            estimated_cost: components["schemas"]["Range"];
            /** @description In seconds. */
            estimated_duration: components["schemas"]["Range"];
            plan_id: components["schemas"]["PlanId"];
            planner: components["schemas"]["Planner"];
            requires_approval: boolean;
            risk_level: components["schemas"]["RiskLevel"];
            tasks: components["schemas"]["PlannedTask"][];
            title: string;
        };
        /** @description The work goes on: a step of it is done. */
        TaskProgress: {
            agent_id: components["schemas"]["AgentId"];
            /** @example Tool used: list_agents */
            detail: string;
            plan?: components["schemas"]["PlanPlace"] | null;
            task_id: components["schemas"]["TaskId"];
        };
        /** @description The work begins. */
        TaskStarted: {
            agent_id: components["schemas"]["AgentId"];
            plan?: components["schemas"]["PlanPlace"] | null;
            task_id: components["schemas"]["TaskId"];
        };
        /** @enum {string} */
        TaskStatus: "queued" | "running" | "waiting_approval" | "waiting_tool" | "completed" | "failed" | "cancelled";
        Tasks: {
            tasks: components["schemas"]["PlanTask"][];
            /** Format: int64 */
            total: number;
        };
        /** @description A message to an agent. */
        TellAgent: {
            delivery?: components["schemas"]["Delivery"];
            /** @example Find the slowest test. */
            message: string;
            session_id?: components["schemas"]["SessionId"] | null;
        };
        /** @description The ticket of a one-time link. */
        Ticket: {
            ticket: string;
        };
        /**
         * Format: date-time
         * @example 2026-01-31T09:30:00.000000Z
         */
        Timestamp: string;
        /** @description A token to send as `Authorization: Bearer`. */
        Token: {
            access_token: string;
            /**
             * Format: int64
             * @description In seconds.
             * @example 86400
             */
            expires_in: number;
            /** @example bearer */
            token_type: string;
        };
        /** @description What became of a message to an agent. */
        Told: {
            /** @enum {string} */
            delivered: "queued";
            message: components["schemas"]["Message"];
            session_id: components["schemas"]["SessionId"];
            task: components["schemas"]["Task"];
        } | {
            /** @enum {string} */
            delivered: "steered";
            session_id: components["schemas"]["SessionId"];
            task: components["schemas"]["Task"];
        };
        /** @description A message that was taken, and its answer when that was waited for. */
        ToldBody: components["schemas"]["Told"] & {
            answer?: components["schemas"]["Message"] | null;
        };
        /** @description A person is asked whether a tool may be used; the approval has all there is to know. */
        ToolApprovalRequest: {
            agent_id?: components["schemas"]["AgentId"] | null;
            approval_id: components["schemas"]["ApprovalId"];
            expires_at: components["schemas"]["Timestamp"];
            /**
             * @description Why a person is asked.
             * @example writes a file
             */
            reason: string;
            risk_level: components["schemas"]["RiskLevel"];
            task_id?: components["schemas"]["TaskId"] | null;
            tool_id: components["schemas"]["ToolCallId"];
            tool_name: string;
        };
        /** @description A call of a tool on the user's machine. */
        ToolCall: {
            agent_id?: components["schemas"]["AgentId"] | null;
            approval_id?: components["schemas"]["ApprovalId"] | null;
            arguments: Record<string, unknown>;
            /** @description The state of the file that the diff starts from. */
            base?: string | null;
            client_id?: components["schemas"]["ClientId"] | null;
            created_at: components["schemas"]["Timestamp"];
            deadline?: components["schemas"]["Timestamp"] | null;
            /** @description Who let it run: `low`, `preference`, or from where a person did. */
            decided_from?: string | null;
            /** @description What it would change. */
            diff?: string | null;
            /** @description Of tool, arguments, folder, base and diff; what is approved is this and nothing else. */
            digest?: string | null;
            error?: string | null;
            id: components["schemas"]["ToolCallId"];
            project_id: components["schemas"]["ProjectId"];
            /**
             * @description Which rule says so.
             * @example writes a file
             */
            reason: string;
            result?: Record<string, unknown> | null;
            risk_level: components["schemas"]["RiskLevel"];
            session_id?: components["schemas"]["SessionId"] | null;
            status: components["schemas"]["ToolCallStatus"];
            task_id?: components["schemas"]["TaskId"] | null;
            /**
             * Format: int32
             * @description How long it may run, in seconds.
             */
            timeout: number;
            /** @example tool_write_file */
            tool_name: string;
            updated_at: components["schemas"]["Timestamp"];
            user_id: components["schemas"]["UserId"];
        };
        /**
         * Format: uuid
         * @description A call of a tool on the user's machine.
         * @example 0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3
         */
        ToolCallId: string;
        /**
         * @description Where a call stands.
         * @enum {string}
         */
        ToolCallStatus: "preparing" | "pending" | "running" | "succeeded" | "failed" | "rejected" | "timeout" | "cancelled" | "outcome_unknown";
        /** @description A client is to carry out a call. */
        ToolExecutionSignal: {
            /** @description None when they are large: then they are read from the call. */
            arguments?: Record<string, unknown> | null;
            /** @description The state of the file that was prepared from. */
            base?: string | null;
            /** @description Whom it is for; no other client acts on it. */
            client_id: components["schemas"]["ClientId"];
            /** @description Who let it run. */
            decided_from?: string | null;
            digest?: string | null;
            phase: components["schemas"]["Phase"];
            /**
             * Format: int32
             * @description In seconds.
             */
            timeout: number;
            tool_id: components["schemas"]["ToolCallId"];
            tool_name: string;
            user_id: components["schemas"]["UserId"];
        };
        /**
         * @description The name of a tool in an agent's list.
         * @example tool_read_file
         */
        ToolName: string;
        /** @description What came of a call. */
        ToolOutcome: {
            client_id: components["schemas"]["ClientId"];
            /** @description Why it failed. */
            error?: string | null;
            /** @description As the tool describes it. */
            result?: Record<string, unknown>;
            success: boolean;
        };
        /** @description What a call would change. */
        ToolPrepared: {
            /** @description The state of the file that the diff starts from. */
            base?: string | null;
            client_id: components["schemas"]["ClientId"];
            /** @description Unified. */
            diff?: string | null;
            /** @description Why it cannot be done. */
            error?: string | null;
            success: boolean;
        };
        /** @description A call has ended. */
        ToolResult: {
            error?: string | null;
            status: components["schemas"]["ToolCallStatus"];
            success: boolean;
            task_id?: components["schemas"]["TaskId"] | null;
            tool_id: components["schemas"]["ToolCallId"];
            tool_name: string;
        };
        /**
         * @description Where a tool does its work.
         * @enum {string}
         */
        ToolSide: "server" | "client" | "person";
        /** @description What to change of a project; what is absent or null stays. */
        UpdateProject: {
            /** @example Web shop, second edition */
            name?: string | null;
            workspace_path?: string | null;
        };
        /** @description What an answer took. */
        Usage: {
            /** Format: int64 */
            cached_tokens: number;
            /**
             * Format: double
             * @description In US dollars; absent when the price is not known.
             */
            cost?: number | null;
            /** @description The provider gave no figures; these are ours. */
            estimated: boolean;
            /** Format: int64 */
            input_tokens: number;
            /**
             * @description The model that answered, with its provider.
             * @example openai/gpt-4o
             */
            model: string;
            /** Format: int64 */
            output_tokens: number;
        };
        /** @description An account. Its password, if it has one, never leaves the storage. */
        User: {
            created_at: components["schemas"]["Timestamp"];
            /** @description A disabled account is refused everywhere, whatever tokens it holds. */
            disabled: boolean;
            id: components["schemas"]["UserId"];
            /**
             * @description The name to log in with, or the subject of an outside identity provider.
             * @example ada
             */
            name: string;
            role: components["schemas"]["Role"];
        };
        /**
         * Format: int64
         * @description A user of this server.
         * @example 1
         */
        UserId: number;
        Users: {
            /** Format: int64 */
            total: number;
            users: components["schemas"]["User"][];
        };
        /** @enum {string} */
        Wellness: "healthy" | "degraded" | "unhealthy";
        /** @description One word of a command line. */
        Word: string;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
