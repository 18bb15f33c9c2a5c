// Who receives events with the stock library of another language? A server that prints its port, then a line for each request.
const { createServer } = require("node:http");
const { Webhook } = require("standardwebhooks");

let webhook; // of the secret, which comes by standard input once the subscription is made
process.stdin.once("data", (text) => (webhook = new Webhook(text.toString().trim())));

function accepts(body, headers) {
  try {
    webhook.verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts).toString();
    const verified = accepts(body, request.headers);
    const old = { ...request.headers, "webhook-timestamp": String(request.headers["webhook-timestamp"] - 3600) };
    const changed = accepts(body.replace("lead_ended", "lead_added"), request.headers) || accepts(body, old);
    console.log(JSON.stringify({ type: JSON.parse(body).type, verified, changed }));
    response.writeHead(verified ? 200 : 401).end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
