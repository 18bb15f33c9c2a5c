// Sends the token of the address, and the password, to the API. The token leaves the address bar at once.
"use strict";

const token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

const form = document.getElementById("form");
const password = document.getElementById("password");
const again = document.getElementById("again");
const said = document.getElementById("said");

if (!token) {
  form.hidden = true;
  said.textContent = "This link is not complete: it ends in # and a token. Copy all of it.";
}

// A company may have an identity provider: the button leads to it with the token, which links the identity once.
async function offerIssuer() {
  const issuer = document.getElementById("issuer");
  const answer = await fetch("/console/invitation", { method: "POST", credentials: "omit", body: new URLSearchParams({ token }) });
  if (!answer.ok) return;
  const offer = await answer.json();
  if (offer.issuer_name) {
    document.getElementById("issuer_name").textContent = offer.issuer_name;
    issuer.elements.invitation.value = token;
    issuer.hidden = false;
  }
  if (!offer.takes_password) {
    form.hidden = true;
    document.getElementById("or").hidden = true;
    if (!offer.issuer_name) said.textContent = "Users of this company sign in by its identity provider, which cannot be used now.";
  }
}

if (token) offerIssuer().catch(() => {});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (password.value !== again.value) {
    said.textContent = "The passwords differ.";
    return;
  }
  said.textContent = "Setting the password …";
  try {
    const answer = await fetch("/api/v1/invitations/accept", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      credentials: "omit",
      body: JSON.stringify({ token, password: password.value }),
    });
    const content = await answer.json();
    if (answer.ok) {
      form.hidden = true;
      said.textContent = "Your password is set. You can sign in now.";
    } else {
      const faults = Object.values(content.errors ?? {}).flat().join("; ");
      said.textContent = [content.detail, faults && `The password ${faults}.`].filter(Boolean).join(" ");
    }
  } catch {
    said.textContent = "The server does not answer. Try again.";
  }
});
