// Writes src/api/schema.ts from what the server says of itself: `ARTEL_BIN=… npm run types`.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const artel = process.env.ARTEL_BIN ?? "../target/release/artel";
const described = JSON.parse(execFileSync(artel, ["openapi"], { encoding: "utf8", maxBuffer: 64 << 20 }));
// The names of operations are not unique there, and the page goes by paths anyway.
for (const path of Object.values(described.paths)) for (const operation of Object.values(path)) delete operation.operationId;
const types = astToString(await openapiTS(described, { emptyObjectsUnknown: true }));
const head = "// What the server takes and gives. Made from `artel openapi` by `npm run types`; not to be edited.\n\n";
writeFileSync(new URL("../src/api/schema.ts", import.meta.url), head + types);
