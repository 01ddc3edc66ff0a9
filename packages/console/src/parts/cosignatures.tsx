// Cosignatures and timestamp of a checkpoint, in words and as rows of facts.

import type { Epoch } from '@custos/client/types'
import { Time } from './time.tsx'

/** The cosignatures in words; null if the operator has no witnesses. */
export const describeWitnesses = ({
  cosignatures,
  witnessed,
}: Pick<Epoch, 'cosignatures' | 'witnessed'>): string | null =>
  witnessed === null
    ? null
    : `${cosignatures.length} cosigned it, ${witnessed ? '' : 'not yet '}enough`

export const cosignatureRows = (
  checkpoint: Pick<Epoch, 'cosignatures' | 'witnessed' | 'timestamp'>,
) =>
  [
    ['Witnesses', describeWitnesses(checkpoint)],
    ['Timestamp', checkpoint.timestamp && <Time key="d" value={checkpoint.timestamp.stamped_at} />],
  ] as const
