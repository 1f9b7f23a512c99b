// A deployment as Kubernetes resources.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_MANIFESTS_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_MANIFESTS_H_

#include "launch/kubernetes/options.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan::kubernetes {

// kustomization.yaml and what it lists: a ConfigMap with the scripts, the Service of the API, and a
// LeaderWorkerSet whose group is the whole deployment, or a StatefulSet for node 0, one for the
// others and their headless Service. Fails as MakeFacts and MakeScripts do.
Result<Bundle> MakeManifests(const LaunchInput& input, const Options& options);

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_MANIFESTS_H_
