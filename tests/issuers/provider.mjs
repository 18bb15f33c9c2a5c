// Which identity provider do the tests sign in by? npm's oidc-provider, over TLS, with its own pages to sign in on.
// Settings come as JSON in SETTINGS. A line "rotate" gives it other keys; it says a line when it is ready.
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const settings = JSON.parse(process.env.SETTINGS);
const { default: Provider } = await import(pathToFileURL(`${settings.programs}/oidc-provider/lib/index.js`));

let generation = 0;

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  generation += 1;
  return { ...privateKey.export({ format: "jwk" }), kid: `key-${generation}`, use: "sig", alg: "RS256" };
}

function newProvider() {
  return new Provider(settings.issuer, {
    clients: [{
      client_id: settings.client_id,
      client_secret: settings.client_secret,
      redirect_uris: [settings.redirect_uri],
      token_endpoint_auth_method: "client_secret_basic",
    }],
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false, // puts the e-mail address into the ID token, as Google, Okta and Keycloak do
    cookies: { keys: ["of a test"] },
    jwks: { keys: [newKey()] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
    }),
  });
}

let provider = newProvider();
const server = createServer(
  { key: readFileSync(settings.key), cert: readFileSync(settings.certificate) },
  (request, response) => provider.callback()(request, response),
);
server.listen(settings.port, "127.0.0.1", () => console.log("ready"));
createInterface({ input: process.stdin }).on("line", () => {
  provider = newProvider();
  console.log("rotated");
});
