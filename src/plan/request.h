// What every engine's plan asks of a request first.
#ifndef SHARDPLAN_PLAN_REQUEST_H_
#define SHARDPLAN_PLAN_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/model/model.h"
#include "shardplan/plan/deployment.h"

namespace shardplan {

// Sizes and counts that are none. Fails with kUsage.
Status CheckSizes(const Deployment& deployment);

// Offload of vLLM that is none, or that it refuses whatever the model. Fails with kUsage.
Status CheckOffload(const Deployment& deployment);

// Settings of both of vLLM's offloaders, of which it takes one: offload.conflict (warning).
std::optional<Finding> OffloadConflict(const Deployment& deployment);

// Tokens that were asked about have to lie inside the window. Fails with kUsage.
Status CheckTokens(const Deployment& deployment, int64_t window);

// The options that only the other engine has, as a finding of this one: engine.foreign_option
// (warning). `names` may hold one of them twice.
void NoteForeignOptions(const std::vector<std::string>& names, const std::string& theirs,
                        const std::string& ours, std::vector<Finding>* findings);

// Cards of a server: as given, as the cluster has them, or what this kind of card usually comes in.
int64_t CardsPerNode(const GpuSpec& gpu, const Deployment& deployment);

// The card with what the request says of it. Fails with kUsage for more than it has.
Result<GpuSpec> CardOf(const GpuSpec& card, const Deployment& deployment);

// The draft that `option` names by a path, which has to be here: nothing is downloaded. `method` is
// what it is loaded for, where that decides its class (model/draft_class.h). Fails with kUsage
// where it is not here or its files are of another kind than the method's, and as LoadModel does.
Result<std::shared_ptr<const Model>> LoadDraftModel(const std::string& option,
                                                    const std::string& path,
                                                    const std::string& method = "");

// The command's --quantization against what the checkpoint says of its own
// (engine/quantization_argument.h).
std::optional<Finding> CheckStoredQuantization(const Model& model, const Deployment& deployment);

// Where the engine finds a draft that was named by a file in its directory: that directory; nothing
// where `path` is what the engine reads itself, or a place was given.
void ServeDraftDirectory(const std::string& path, const Model& draft, EngineSettings* settings);

// Whether an engine serves `model` itself. Fails with kUnsupported for a draft in the speculators
// format: vLLM loads the model that it names in its place
// (transformers_utils/config.py:maybe_override_with_speculators).
Status CheckServed(const Model& model, const std::string& engine);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_REQUEST_H_
