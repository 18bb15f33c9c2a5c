// What does a carrier do with texts over SMPP? It takes each, delivers a receipt for it, and answers "STOP?" with a STOP.
// A server by the package smpp of npm. It prints its port, then a line of JSON for each text that it takes.
'use strict';

const smpp = require('smpp');

const DELIVERED = 2;
let messages = 0;

const server = smpp.createServer((session) => {
  session.on('error', () => {});
  session.on('bind_transceiver', (pdu) => {
    const known = pdu.system_id === 'leads' && pdu.password === 'secret08';
    session.send(pdu.response({ command_status: known ? smpp.ESME_ROK : smpp.ESME_RBINDFAIL, system_id: 'carrier' }));
  });
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('unbind', (pdu) => {
    session.send(pdu.response());
    session.close();
  });
  session.on('submit_sm', (pdu) => {
    messages += 1;
    const id = `node-${messages}`;
    const text = pdu.short_message.message || (pdu.message_payload && pdu.message_payload.message) || '';
    const parts = (pdu.short_message.udh || []).map((header) => header.toString('hex'));
    console.log(JSON.stringify({ id, to: pdu.destination_addr, from: pdu.source_addr, text, parts }));
    session.send(pdu.response({ message_id: id }));
    deliver(session, pdu, {
      esm_class: 4,
      short_message: `id:${id} sub:001 dlvrd:001 submit date:2606170100 done date:2606170101 stat:DELIVRD err:000 text:`,
      receipted_message_id: id,
      message_state: DELIVERED,
    });
    if (text === 'STOP?') deliver(session, pdu, { short_message: 'STOP' });
  });
  session.on('query_sm', (pdu) =>
    session.send(pdu.response({ message_id: pdu.message_id, message_state: DELIVERED, final_date: '', error_code: 0 })));
});

function deliver(session, pdu, fields) {
  session.deliver_sm({
    source_addr_ton: 1,
    source_addr_npi: 1,
    source_addr: pdu.destination_addr,
    destination_addr: pdu.source_addr,
    ...fields,
  });
}

server.listen(0, '127.0.0.1', () => console.log(String(server.address().port)));
