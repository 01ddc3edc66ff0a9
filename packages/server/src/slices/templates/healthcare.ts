// Patient records and diagnoses, and who may look at them.

import type { TemplateSource } from './catalogue.ts'

export const HEALTHCARE: TemplateSource = {
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
