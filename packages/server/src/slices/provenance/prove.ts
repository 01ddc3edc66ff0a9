// GET /v1/provenance/corpora/{corpus_id}/proof: a source and its way to the root.

import type { provenance as contract } from '@custos/contract'
import { corpusPath, corpusTree, partsOf, toHex } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { sha256 } from '../gcrumbs/index.ts'
import { runInSteps } from './corpus-registry.ts'
import { loadCorpus } from './reads.ts'
import { documentOf } from './show-corpus.ts'

export const proof: Handler<typeof contract.proof> = async (call, { params, query }) => {
  const { corpus_id } = params
  const { source_id } = query
  const { sources } = partsOf(documentOf(await loadCorpus(call, corpus_id)))
  const leaf_index = sources.findIndex(({ id }) => id === source_id)
  const source = sources[leaf_index]
  if (!source) return { included: false, corpus_id, source_id, reason: 'source_not_in_corpus' }

  const tree = await runInSteps(corpusTree(sources, sha256))
  const { leaf, audit_path, proof: steps } = await corpusPath(tree, leaf_index, sha256)
  return {
    included: true,
    corpus_id,
    source_id,
    leaf,
    leaf_index,
    tree_size: tree.size,
    audit_path: [...audit_path],
    proof: steps.map((step) => [...step]),
    merkle_root: toHex(tree.root),
    source,
  }
}
