// DFlash drafts: a few of Qwen3's layers that guess a whole block in one pass, whatever the target.
//
// Names are the published files' (z-lab/Qwen3-8B-DFlash-b16); what the engine makes of them is
// vLLM's (models/qwen3_dflash.py, 036a00d1).
#include "model/families/draft_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildDflash(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const BlockDraft draft = ReadBlockDraft(config, &a);
  if (!config.ok()) return tl::unexpected(config.error());
  TableBuilder t(&spec.table, a.dtype);
  AddBlockDraft(t, &spec.table, a, draft);
  AddDraftHead(t, a, draft.words, draft.LeavesHeadOut(a));
  return spec;
}

}  // namespace shardplan::families
