// Does the generated TypeScript client submit a lead, list it, change it and opt its person out? It prints the answers.
import createClient from "openapi-fetch";

import type { components, paths } from "./api.js";

type Lead = components["schemas"]["Lead"];

declare const process: { env: Record<"BASE" | "KEY" | "TOKEN" | "NUMBER", string> };

const { BASE, KEY, TOKEN, NUMBER } = process.env;
const client = createClient<paths>({
  baseUrl: BASE,
  headers: { Authorization: `Basic ${btoa(KEY)}` },
});

function shown<T>(answer: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (answer.data === undefined) throw new Error(answer.error?.detail ?? "no answer");
  return answer.data;
}

function leadOf(answer: components["schemas"]["LeadResult"] | components["schemas"]["Accepted"]): Lead {
  if (!("lead" in answer)) throw new Error("not decided in time");
  return answer.lead;
}

const submitted = leadOf(
  shown(
    await client.POST("/api/v1/leads", {
      params: { header: { "Idempotency-Key": "typescript-1" } },
      body: { lead_token: TOKEN, caller_id: NUMBER, time_zone: "America/New_York", data: { first_name: "Ada" } },
    }),
  ),
);
const id = String(submitted.id);
const listed = shown(await client.GET("/api/v1/leads", { params: { query: { per_page: 10, columns: ["id", "status"] } } }));
const changed = leadOf(
  shown(await client.PUT("/api/v1/leads/{id}", { params: { path: { id } }, body: { email: "ada@example.com" } })),
);
const optedOut = leadOf(
  shown(
    await client.PUT("/api/v1/leads/{id}/caller_opt_out", {
      params: { path: { id: NUMBER } },
      body: { lead_token: TOKEN },
    }),
  ),
);
const refused = await client.POST("/api/v1/leads", { body: { lead_token: TOKEN, caller_id: "nobody" } });

console.log(
  JSON.stringify({
    listed: listed.leads.map((lead) => lead.id).includes(submitted.id),
    total: listed.metadata.total_count,
    email: changed.email,
    status: optedOut.status,
    code: refused.error?.code,
    fields: Object.keys(refused.error?.errors ?? {}),
  }),
);
