// Builds the kernel from its parts, for the service on either engine and for read-only commands.

import type { EmbedderName } from '@custos/contract'
import type { Config } from '../../config/config.ts'
import type { EmbedderConfig } from '../../config/embedder-config.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/db/database.ts'
import { AddressList } from '../../platform/egress/addresses.ts'
import { Egress, type HostLookup } from '../../platform/egress/egress.ts'
import { type Embedder, type Embedders, embeddersOf } from '../../platform/embed/embedder.ts'
import { createHttpEmbedder } from '../../platform/embed/http-embedder.ts'
import { createStaticEmbedder } from '../../platform/embed/static-embedder.ts'
import { systemIds } from '../../platform/ids.ts'
import { JobWorker } from '../../platform/jobs/worker.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { registerTextSources } from '../../platform/kernel/text-source.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'
import type { Tracer } from '../../platform/telemetry/tracer.ts'
import { loadTokenizer } from '../../platform/tokens/tokenizer.ts'
import { approverTextSource } from '../../slices/approvals/index.ts'
import { policyTextSource } from '../../slices/governance/index.ts'
import { connectionTextSource, userTextSource } from '../../slices/identity/index.ts'
import { providerTextSource, toolTextSource } from '../../slices/llm/index.ts'
import { storeTextSource } from '../../slices/memory/index.ts'
import {
  agentTextSource,
  runTextSource,
  workflowTextSource,
} from '../../slices/orchestrator/index.ts'
import { recordTextSources } from '../../slices/records/index.ts'
import { reportTextSource } from '../../slices/reports/index.ts'
import { reputationTextSources } from '../../slices/reputation/index.ts'
import { retentionTextSources } from '../../slices/retention/index.ts'
import { keptLabelSource } from '../../slices/subjects/index.ts'
import { keyTextSources } from '../../slices/tenants/index.ts'
import { webhookTextSource } from '../../slices/webhooks/index.ts'
import { originOfInstance } from './require-origin.ts'
import { VERSION } from './version.ts'

const MINUTE_US = 60_000_000
/** How long a read waits for the index of its store. */
const INDEX_WAIT_MS = 2_000
const LEASE_MS = 30_000

interface KernelParts {
  readonly config: Config
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
  readonly tracer?: Tracer | null
  readonly db: Database
  readonly keyring: Keyring
  readonly embedders: Embedders
  /** Resolves host names that tenants chose; default: the system's resolver. */
  readonly lookup?: HostLookup | undefined
  /** Called at named points, where crash tests stop the process. */
  readonly step?: ((name: string) => void | Promise<void>) | undefined
  /** Default: 30 seconds; tests use less. */
  readonly lease_ms?: number | undefined
}

export function assembleKernel(parts: KernelParts): Kernel {
  const { config, clock, logger, db, keyring, embedders, step, lease_ms = LEASE_MS } = parts
  const kernel: Kernel = {
    settings: {
      origin: originOfInstance(config.origin, keyring.instance_id),
      version: VERSION,
      auth: config.auth,
      default_tokenizer: 'o200k_base',
      index_bytes_max: config.index_bytes_max,
      index_wait_ms: INDEX_WAIT_MS,
      index_dir: config.index_dir,
      lease_ms,
      plans: config.plans,
      billing: config.billing,
      console_origins: config.console_origins,
      session_idle_us: config.session_idle_minutes * MINUTE_US,
      session_us: config.session_hours * 60 * MINUTE_US,
      public_url: config.public_url,
      trusted_proxies: new AddressList(config.trusted_proxies),
      pages: config.pages,
      witnesses: config.witnesses,
      timestamps: config.timestamps,
    },
    clock,
    ids: systemIds,
    logger,
    metrics: parts.metrics,
    tracer: parts.tracer ?? null,
    db,
    keyring,
    jobs: new JobWorker({ db, clock, ids: systemIds, logger, lease_ms }),
    embedders,
    egress: new Egress({
      ...config.egress,
      local: config.auth === 'local',
      lookup: parts.lookup,
      dns_servers: config.dns_servers,
    }),
    tokenizer: loadTokenizer,
    step: step ?? (() => {}),
  }
  registerTextSources(kernel, TEXT_SOURCES)
  return kernel
}

/**
 * Every kind of record, besides memories and decisions, whose texts can name a person. Subject
 * requests search and redact only the kinds that have a source here.
 */
const TEXT_SOURCES = [
  ...recordTextSources,
  approverTextSource,
  ...reputationTextSources,
  policyTextSource,
  ...retentionTextSources,
  reportTextSource,
  storeTextSource,
  ...keyTextSources,
  keptLabelSource,
  webhookTextSource,
  userTextSource,
  connectionTextSource,
  runTextSource,
  agentTextSource,
  workflowTextSource,
  providerTextSource,
  toolTextSource,
]

/** Throws OperatorError with a one-line message if a model cannot be loaded. */
export async function openEmbedders({
  default_name,
  http,
  onnx,
}: EmbedderConfig): Promise<Embedders> {
  const embedders = new Map<EmbedderName, Embedder>([['static', createStaticEmbedder()]])
  if (http !== null) embedders.set('http', createHttpEmbedder(http))
  if (onnx !== null) {
    // Imported only if configured: its package is optional.
    const { loadOnnxEmbedder } = await import('../../platform/embed/onnx-embedder.ts')
    embedders.set('onnx', await loadOnnxEmbedder(onnx))
  }
  return embeddersOf(default_name, embedders)
}

/** For commands that read rows but do not search. */
export const noEmbedders = (): Embedders => embeddersOf('none', new Map())
