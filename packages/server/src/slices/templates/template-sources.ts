// Pure: the templates that can be installed, in the order of their list.

/** `number!`: a type, with `!` where the property is required. */
export type PropertyText = `${'string' | 'integer' | 'number' | 'boolean'}${'' | '!'}`

export interface TemplateSource {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly description: string
  readonly objects: Readonly<Record<string, Readonly<Record<string, PropertyText>>>>
  readonly links: Readonly<
    Record<string, readonly [from: string, to: string, cardinality: Cardinality]>
  >
  readonly actions: Readonly<Record<string, readonly [subject: string, tier: string]>>
}

type Cardinality = 'one_to_one' | 'one_to_many' | 'many_to_one' | 'many_to_many'

const SOFTWARE_ENGINEERING: TemplateSource = {
  id: 'gns-software-engineering',
  name: 'gns-software-engineering',
  version: '1.0.0',
  description: 'Code changes, deployments and vulnerabilities; merging and approving deployments',
  objects: {
    CodeChange: { title: 'string!', files_changed: 'integer' },
    Deployment: { environment: 'string!', status: 'string' },
    Vulnerability: { cve_id: 'string!', severity: 'string' },
  },
  links: {
    CodeChangeTriggersDeployment: ['CodeChange', 'Deployment', 'many_to_one'],
    DeploymentHasVulnerability: ['Deployment', 'Vulnerability', 'many_to_many'],
  },
  actions: {
    approve_deploy: ['Deployment', 'verified'],
    merge_code: ['CodeChange', 'basic'],
  },
}

const HEALTHCARE: TemplateSource = {
  id: 'healthcare',
  name: 'healthcare-compliance',
  version: '1.0.0',
  description: 'Patient records and diagnoses; viewing them and exporting datasets',
  objects: {
    PatientRecord: { mrn: 'string!', dob: 'string', is_anonymized: 'boolean' },
    Diagnosis: { icd10_code: 'string!', description: 'string' },
  },
  links: {
    PatientHasDiagnosis: ['PatientRecord', 'Diagnosis', 'many_to_many'],
  },
  actions: {
    view_phi: ['PatientRecord', 'verified'],
    export_dataset: ['PatientRecord', 'trusted'],
  },
}

const RECEIVABLES: TemplateSource = {
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

export const TEMPLATES: readonly TemplateSource[] = [SOFTWARE_ENGINEERING, HEALTHCARE, RECEIVABLES]
