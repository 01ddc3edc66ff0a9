// The fields for the reasons of an erasure, which stay in the certificate permanently.

import { SelectField, TextField } from '../../parts/form.tsx'

export interface ErasureReason {
  readonly legal_basis: string
  readonly requested_by: string
}

const BASES = [
  'GDPR Article 17 — Right to Erasure',
  'GDPR Article 17(1)(a): no longer necessary',
  'GDPR Article 17(1)(b): consent withdrawn',
  'GDPR Article 17(1)(c): objection',
  'GDPR Article 17(1)(d): unlawful processing',
  'GDPR Article 17(1)(e): legal obligation',
] as const

export const FIRST_REASON: ErasureReason = { legal_basis: BASES[0], requested_by: 'data_subject' }

export function ReasonFields({
  value,
  onChange,
}: {
  readonly value: ErasureReason
  readonly onChange: (value: ErasureReason) => void
}) {
  const known = BASES.some((basis) => basis === value.legal_basis)
  return (
    <>
      <p>Both become part of the certificate for ever. Name no person in them.</p>
      <SelectField
        label="Legal basis"
        value={known ? value.legal_basis : ''}
        onChange={(legal_basis) => onChange({ ...value, legal_basis })}
        options={[...BASES.map((basis) => [basis, basis] as const), ['', 'Another one']]}
      />
      {!known && (
        <TextField
          label="The other legal basis"
          required
          maxLength={256}
          value={value.legal_basis}
          onChange={(legal_basis) => onChange({ ...value, legal_basis })}
        />
      )}
      <TextField
        label="Requested by"
        hint="A role, for example data_subject or legal department"
        required
        maxLength={256}
        value={value.requested_by}
        onChange={(requested_by) => onChange({ ...value, requested_by })}
      />
    </>
  )
}
