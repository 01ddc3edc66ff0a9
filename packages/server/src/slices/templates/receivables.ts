// Invoices that are financed, the decisions on them, and alerts of money laundering.

import type { TemplateSource } from './catalogue.ts'

export const RECEIVABLES: TemplateSource = {
  id: 'virtualbank-receivables',
  name: 'virtualbank-receivables',
  version: '1.0.0',
  description: 'Receivables finance: clients, invoices, advances, decisions, outcomes and alerts',
  objects: {
    Client: { client_id: 'string!', name: 'string', sector: 'string', country: 'string' },
    Counterparty: { counterparty_id: 'string!', name: 'string', sector: 'string' },
    Invoice: {
      invoice_ref: 'string!',
      amount: 'number',
      currency: 'string',
      tenor_days: 'number',
      sector: 'string',
      risk_signal: 'number',
    },
    Advance: { advance_id: 'string!', amount: 'number', facility: 'string', status: 'string' },
    Agent: { agent_handle: 'string!', agent_key: 'string', model_id: 'string' },
    Decision: {
      decision: 'string!',
      verifiability_tag: 'string',
      reason_code: 'string',
      agent_handle: 'string',
    },
    Outcome: { outcome: 'string!', amount_recovered: 'number', outcome_date: 'string' },
    AMLAlert: { alert_id: 'string!', risk_score: 'number', reason: 'string' },
    Disposition: { disposition: 'string!', notes: 'string' },
  },
  links: {
    owns: ['Client', 'Invoice', 'one_to_many'],
    drawnOn: ['Invoice', 'Counterparty', 'many_to_one'],
    fundedBy: ['Invoice', 'Advance', 'one_to_one'],
    decidedBy: ['Decision', 'Agent', 'many_to_one'],
    resolvesTo: ['Decision', 'Outcome', 'one_to_one'],
    triggers: ['Invoice', 'AMLAlert', 'one_to_many'],
    resolvedBy: ['AMLAlert', 'Disposition', 'one_to_one'],
  },
  actions: {
    certify: ['Invoice', 'verified'],
    reject: ['Invoice', 'verified'],
    record_outcome: ['Advance', 'trusted'],
    clear_alert: ['AMLAlert', 'verified'],
    escalate_alert: ['AMLAlert', 'trusted'],
  },
}
