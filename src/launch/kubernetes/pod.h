// What runs in a pod of the deployment.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_POD_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_POD_H_

#include <map>
#include <string>

#include "launch/kubernetes/facts.h"
#include "launch/yaml_writer.h"

namespace shardplan::kubernetes {

enum class Role { kLeader, kWorker };  // node 0, which serves; all others

// A pod template, and comments by JSON pointer into it.
struct PodTemplate {
  YamlValue value;
  std::map<std::string, std::string> comments;
};

// `scripts_hash` goes into an annotation, so that pods are replaced when a script changes. The
// comments tell where figures come from; only the leader's template has them.
PodTemplate MakePodTemplate(const Facts& facts, Role role, const std::string& scripts_hash);

// Labels of everything that belongs to the deployment.
YamlValue LabelsOf(const Facts& facts);
// What selects the pods of all nodes, and those of a role.
YamlValue SelectorOf(const Facts& facts);
YamlValue SelectorOf(const Facts& facts, Role role);

// "$(" and "$$" mean something in the values of variables; every "$" is written twice.
std::string EscapeVariable(const std::string& text);

// "96Gi", "512Mi", "1000": the largest unit that holds the size exactly.
std::string QuantityOf(Bytes size);

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_POD_H_
