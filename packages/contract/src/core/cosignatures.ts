// Signatures of others on a checkpoint: cosignatures of witnesses, and a timestamp of an authority.

import Type from 'typebox'
import { about, Base64, boolean, Nullable, text, time } from './common.ts'

const Cosignature = Type.Object(
  {
    witness: text('Key of the witness as a C2SP vkey'),
    signed_at: time('When the witness says it signed'),
    line: text('Its line of the signed note, without the line feed'),
  },
  { title: 'Cosignature', description: 'The signature of a witness on a checkpoint' },
)

const EpochTimestamp = Type.Object(
  {
    stamped_at: time('When the checkpoint existed, as the authority says'),
    token: about(Base64, 'The RFC 3161 token in DER, over the SHA-256 of the text in `checkpoint`'),
  },
  { title: 'EpochTimestamp', description: 'The timestamp of an authority on a checkpoint' },
)

/** Members with the signatures of others; every reply with a checkpoint has them. */
export const cosignatureMembers = {
  cosignatures: Type.Array(Cosignature, {
    description: 'Signatures of witnesses on this checkpoint, in the order they were obtained',
  }),
  witnessed: Nullable(
    boolean('Whether enough witnesses cosigned it; null: the operator has no witnesses'),
  ),
  timestamp: Nullable(
    about(EpochTimestamp, 'Its timestamp; null: none was asked for, or none has come yet'),
  ),
}
