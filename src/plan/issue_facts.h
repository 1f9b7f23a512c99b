// What a deployment is, in the words of the known issues.
#ifndef SHARDPLAN_PLAN_ISSUE_FACTS_H_
#define SHARDPLAN_PLAN_ISSUE_FACTS_H_

#include <memory>
#include <string>
#include <vector>

#include "plan/issue_match.h"
#include "plan/prepare.h"
#include "plan/sglang/prepare.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/model/architecture.h"
#include "shardplan/plan/deployment.h"

namespace shardplan {

// What does not hang on anybody's settings. Null: not known.
IssueFacts FactsOfPlace(const Architecture* arch, const GpuSpec* gpu, const Deployment& deployment,
                        const std::string& version);

// What the request says itself, beyond that: sizes, and settings that were given. Settings that
// were left out stay unknown.
void AddGivenFacts(const Deployment& deployment, IssueFacts* facts);

// The same with every default filled in.
IssueFacts FactsOf(const Prepared& prepared, const std::string& version);
IssueFacts FactsOf(const SglangPrepared& prepared, const std::string& version);

// The issues that a deployment of this model on this card may run into, whatever its settings.
Result<std::shared_ptr<const std::vector<KnownIssue>>> IssuesFor(const ConfigStore& store,
                                                                 const Architecture& arch,
                                                                 const GpuSpec& gpu,
                                                                 const Deployment& deployment,
                                                                 const std::string& version);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_ISSUE_FACTS_H_
