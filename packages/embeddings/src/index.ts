// The public interface: the bundled embedding model and its parts.
export { DIMENSIONS, loadModel, MODEL, parseBundled, StaticModel, VERSION } from './static-model.ts'
export { Tokenizer } from './tokenizer.ts'
