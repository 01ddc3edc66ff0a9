// Every kind of record, beside memories and decisions, whose texts can name a person.

import type { Kernel } from '../platform/kernel/kernel.ts'
import { registerTextSources } from '../platform/kernel/text-source.ts'
import { approverTextSource } from '../slices/approvals/index.ts'
import { policyTextSource } from '../slices/governance/index.ts'
import { storeTextSource } from '../slices/memory/index.ts'
import { recordTextSources } from '../slices/records/index.ts'
import { reportTextSource } from '../slices/reports/index.ts'
import { reputationTextSources } from '../slices/reputation/index.ts'
import { retentionTextSources } from '../slices/retention/index.ts'

/** A kind without a source here is searched by no request, and redacted by none. */
export const registerAllTextSources = (kernel: Kernel): void =>
  registerTextSources(kernel, [
    ...recordTextSources,
    approverTextSource,
    ...reputationTextSources,
    policyTextSource,
    ...retentionTextSources,
    reportTextSource,
    storeTextSource,
  ])
